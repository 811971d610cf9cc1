# Arms Python's faulthandler for `dllaunch stacks`, then runs the sitecustomize.py that this one hides.
# A memory file needs no folder, and forked children, such as data loaders, write into their parent's.


def _arm():
    import faulthandler
    import fcntl
    import os
    import signal

    file = os.memfd_create("dllaunch-stacks")
    fcntl.fcntl(file, fcntl.F_SETFL, os.O_APPEND)
    faulthandler.register(signal.SIGRTMIN + 13, file=file, all_threads=True, chain=False)
    faulthandler.enable()  # one that dies of a signal writes its stacks to its log


def _run_hidden():
    import importlib.machinery
    import importlib.util
    import os
    import sys

    here = os.path.dirname(os.path.abspath(__file__))
    path = [folder for folder in sys.path if os.path.abspath(folder or ".") != here]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", path)
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


try:
    _arm()
except Exception:  # an old Python, or a module of it that is not there: no stacks, but the program runs
    pass
_run_hidden()
