// Runs programs one after the other, each as if alone. Before what each of them prints stands a NUL.
import { pathToFileURL } from "node:url";

for (const path of process.argv.slice(2)) {
  process.stdout.write("\0");
  try {
    await import(pathToFileURL(path));
  } catch (error) {
    console.log(error);
  }
}
process.exit();
