// Gives the owners of precompiled headers (precompiled.cmake) a source.
