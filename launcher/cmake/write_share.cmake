# cmake -DPROGRAM=dllaunch "-DCOMMANDS=run;ps" -DSHARE=DIR -P write_share.cmake
# Writes the man pages and completion scripts that PROGRAM prints, where Linux looks for them below /usr/share.
function(write file)
  get_filename_component(folder ${SHARE}/${file} DIRECTORY)
  file(MAKE_DIRECTORY ${folder})
  execute_process(COMMAND ${PROGRAM} ${ARGN} OUTPUT_FILE ${SHARE}/${file} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

write(man/man1/dllaunch.1 help --man)
foreach(name IN LISTS COMMANDS)
  write(man/man1/dllaunch-${name}.1 help ${name} --man)
endforeach()
write(bash-completion/completions/dllaunch completion bash)
write(zsh/site-functions/_dllaunch completion zsh)
write(fish/vendor_completions.d/dllaunch.fish completion fish)
