# Sourced by detect.sh, and by skills that want the function itself.
detect_type() {
  if [ -e "$1/package.json" ]; then echo node
  elif [ -e "$1/Cargo.toml" ]; then echo rust
  elif [ -e "$1/pyproject.toml" ]; then echo python
  else echo unknown
  fi
}
