#compdef dllaunch
# Completion of dllaunch for zsh: source <(dllaunch completion zsh), after compinit,
# or as a file _dllaunch in a folder of $fpath. dllaunch itself says what may come next.

_dllaunch() {
  local program=${(Q)words[1]/#\~/$HOME} line word
  whence -p -- $program >/dev/null || program=dllaunch

  local -a whole open files
  local typed=(${(Q)words[2,CURRENT-1]} "${(Q)PREFIX}")
  for line in "${(@f)$($program completion --candidates -- "${typed[@]}" 2>/dev/null)}"; do
    word=${line%%$'\t'*}
    case $line in
      '') ;;
      :files) files=(_files) ;;
      :folders) files=(_files -/) ;;
      *)
        line=${word//:/\\:}${${line#$word}/#$'\t'/:}
        if [[ $word == *[=.] ]]; then open+=($line); else whole+=($line); fi
        ;;
    esac
  done
  local found=1
  (( $#whole )) && _describe -t words word whole && found=0
  (( $#open )) && _describe -t keys key open -S '' && found=0
  (( $#files )) && $files && found=0
  return found
}

if [[ $funcstack[1] == _dllaunch ]]; then
  _dllaunch "$@"
else
  compdef _dllaunch dllaunch
fi
