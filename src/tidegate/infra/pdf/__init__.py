"""PDF documents from typst templates: the compiler, what templates share, and the fonts. No business words."""
