# Completion of dllaunch for fish: dllaunch completion fish | source
# dllaunch itself says what may come next.

function __dllaunch_candidates
    set -l words (commandline -opc)
    set -l program $words[1]
    type -q -- $program; or set program dllaunch
    set -l word (commandline -ct)
    for line in ($program completion --candidates -- $words[2..] "$word" 2>/dev/null)
        switch $line
            case :files
                __fish_complete_path $word
            case :folders
                __fish_complete_directories $word ''
            case '*'
                echo $line
        end
    end
end

complete -c dllaunch -f -a '(__dllaunch_candidates)'
