# Completion of dllaunch for bash: source <(dllaunch completion bash)
# dllaunch itself says what may come next.

_dllaunch() {
  local program=${COMP_WORDS[0]/#\~/$HOME} i word line
  type -P -- "$program" >/dev/null || program=dllaunch

  # bash splits words at = and :, dllaunch does not.
  local -a words=()
  local joined=no
  for ((i = 1; i <= COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    if [[ $joined == yes || $word == [=:]* ]] && ((${#words[@]})); then
      words[${#words[@]} - 1]+=$word
    else
      words+=("$word")
    fi
    [[ $word == *[=:] ]] && joined=yes || joined=no
  done
  local whole=${words[${#words[@]} - 1]-}
  local before=${whole%"${whole##*[=:]}"}
  [[ $COMP_WORDBREAKS == *[=:]* ]] || before=

  COMPREPLY=()
  while IFS= read -r line; do
    case $line in
      :files) compopt -o default ;;
      :folders) compopt -o dirnames ;;
      *)
        line=${line%%$'\t'*}
        [[ $line == *[=.] ]] && compopt -o nospace
        line=${line#"$before"}
        [[ $line == *[!A-Za-z0-9_.,:=/+@%-]* ]] && printf -v line %q "$line"
        COMPREPLY+=("$line")
        ;;
    esac
  done < <("$program" completion --candidates -- "${words[@]}" 2>/dev/null)
}

complete -F _dllaunch dllaunch
