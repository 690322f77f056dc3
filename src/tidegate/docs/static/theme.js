// Before the first paint, so that a chosen theme does not flash. Without a choice the device decides.
try {
  const chosen = localStorage.getItem('docs-theme');
  if (chosen) document.documentElement.dataset.theme = chosen;
} catch {
  // No storage, no choice.
}
