"""Emulators of the services behind the rails, as programs: stateful, with a page to pay on and a control port."""
