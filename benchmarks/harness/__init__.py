"""How contenders are measured."""
