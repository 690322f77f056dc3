# Runs programs one after the other, each as if alone. Before what each of them prints stands a NUL.
for path in "$@"; do
  printf '\0'
  bash -eo pipefail "$path" 2>&1
done
