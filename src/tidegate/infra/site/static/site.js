// Copy buttons. Without this file, or without a clipboard, the page is complete: everything can be selected.
const announcement = document.querySelector('[role=status]');

function enable(button) {
  button.hidden = false;
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(button.dataset.copy);
    button.textContent = announcement.textContent = 'Copied';
    setTimeout(() => {
      button.textContent = 'Copy';
      announcement.textContent = '';
    }, 2000);
  });
}

if (navigator.clipboard) document.querySelectorAll('[data-copy]').forEach(enable);
