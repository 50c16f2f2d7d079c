"""Progress of a long call, and Ctrl-C during it."""

import signal
import threading

from . import _abi


class Progress:
    """The callback for a call that reports progress: `with Progress(function) as p: call(..., p.callback, None)`.

    function(done, total) may be None. Its exception, or Ctrl-C, stops the work and is raised at the end of the block.
    """

    def __init__(self, function=None):
        self._function = function
        self._raised = None
        self._before = None
        self.callback = _abi.Progress(self._report)

    def _report(self, _, done, total):
        try:
            if self._function and not self._raised:
                self._function(done, total)
        except BaseException as raised:
            self._raised = raised
        return int(self._raised is not None)

    def _on_signal(self, *_):
        self._raised = KeyboardInterrupt()

    def __enter__(self):
        # What Python's own handler raises could start outside of _report's try, and would be lost in ctypes.
        main = threading.current_thread() is threading.main_thread()
        if main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            self._before = signal.signal(signal.SIGINT, self._on_signal)
        return self

    def __exit__(self, kind, *_):
        if self._before:
            signal.signal(signal.SIGINT, self._before)
        if self._raised and kind is None:
            raise self._raised
