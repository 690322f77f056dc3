// A Copy button on each command. Without this file, or without a clipboard, the page is complete.
const announcement = document.querySelector('[role=status]');

function addCopyButton(block) {
  const text = block.textContent;
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'copy';
  button.textContent = 'Copy';
  button.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = announcement.textContent = 'Copied';
    } catch {
      getSelection().selectAllChildren(block.querySelector('code'));
      button.textContent = announcement.textContent = 'Selected';
    }
    setTimeout(() => {
      button.textContent = 'Copy';
      announcement.textContent = '';
    }, 2000);
  });
  block.prepend(button);
}

if (navigator.clipboard) document.querySelectorAll('pre[data-copy]').forEach(addCopyButton);
