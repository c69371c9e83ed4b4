#!/usr/bin/python3
"""Does on a pseudo-terminal what people do: interactive programs, Ctrl-C, Ctrl-Z and fg. TAP.

terminal.py STEMMA P_STATE DIR FIRST WHO"""

import difflib
import fcntl
import os
import pty
import select
import signal
import sys
import termios
import time

stemma, state, where, first, who = sys.argv[1:]
number = int(first)
PATIENCE = 30  # seconds until a test counts as hung


def ok(good, name, why=""):
    global number
    number += 1
    print("%sok %d - %s: %s" % ("" if good else "not ", number, who, name))
    if not good:
        for line in str(why).splitlines()[:20]:
            print("# " + line)
    sys.stdout.flush()


class Terminal:
    """A program on a terminal of its own."""

    def __init__(self, argv, env=None):
        self.seen = b""
        self.ended = False
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            for s in (signal.SIGINT, signal.SIGTSTP, signal.SIGPIPE):
                signal.signal(s, signal.SIG_DFL)
            os.chdir(where)
            os.execvpe(argv[0], argv, dict(os.environ, PS1="$ ", TERM="dumb", **(env or {})))

    def read(self, seconds):
        ready, _, _ = select.select([self.fd], [], [], seconds)
        if not ready:
            return False
        try:
            data = os.read(self.fd, 65536)
        except OSError:
            data = b""
        self.ended = not data
        self.seen += data
        return bool(data)

    def wait_for(self, text, after=0):
        end = time.monotonic() + PATIENCE
        while self.seen.find(text, after) < 0:
            if self.ended or time.monotonic() > end:
                raise TimeoutError("no %r in %r" % (text, self.seen[-2000:]))
            self.read(1)
        return self.seen.find(text, after) + len(text)

    def send(self, text):
        os.write(self.fd, text)

    def end(self):
        """Reads to the end; the wait status."""
        end = time.monotonic() + PATIENCE
        while not self.ended and time.monotonic() < end:
            self.read(1)
        # The terminal stays open until the program has ended: it would be hung up otherwise.
        while time.monotonic() < end:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                os.close(self.fd)
                return status
            time.sleep(0.01)
        os.kill(self.pid, signal.SIGKILL)
        os.close(self.fd)
        return os.waitpid(self.pid, 0)[1]


def both(name, argv, talk=lambda t: None):
    """The same conversation without and with the recorder; what is seen, and the status, must be alike."""
    got = []
    for prefix in ([], [stemma, "run", "--"]):
        t = Terminal(prefix + argv)
        try:
            talk(t)
        except TimeoutError as e:
            # Timed out even in the plain run: the test itself is at fault.
            t.seen += ("\n%s: %s" % ("recorded" if prefix else "plain", e)).encode()
            os.kill(t.pid, signal.SIGTERM)
        status = t.end()
        lines = [l for l in t.seen.replace(b"\r", b"").split(b"\n")
                 if not l.startswith((b"env STEMMA_", b"env _=", b"TracerPid", b"tty "))]
        # Whether the terminal's echo of the key comes before the end is a race without the recorder, too.
        got.append((b"\n".join(l for l in lines if l not in (b"^C", b"^\\", b"")), status))
    plain, recorded = ((seen + b"\nwait status %d" % status).decode("utf-8", "replace").split("\n")
                       for seen, status in got)
    ok(plain == recorded, name, "\n".join(difflib.unified_diff(plain, recorded, "plain", "recorded", lineterm="", n=1)))


both("what a program sees of its terminal", [state, "all", where])
both("an interactive shell", ["sh", "-i"],
     lambda t: (t.wait_for(b"$ "), t.send(b"echo a$((1+1))b\n"), t.wait_for(b"a2b\r\n$ "), t.send(b"exit 5\n")))
both("terminal modes: stty", ["stty", "-a"])


def ctrl_c(t):
    t.wait_for(b"ready")
    t.send(b"\x03")


both("Ctrl-C kills", [state, "+wait", where], ctrl_c)
both("Ctrl-C is caught, and comes once", [state, "+signals", where], ctrl_c)
both("Ctrl-\\", ["sh", "-c", "ulimit -c 0; exec %s +wait %s" % (state, where)],
     lambda t: (t.wait_for(b"ready"), t.send(b"\x1c")))
both("the end of input", ["cat"], lambda t: (t.send(b"line\n"), t.wait_for(b"line\r\nline"), t.send(b"\x04")))
both("a window's new size", [state, "+signals", where],
     lambda t: (t.wait_for(b"ready"), fcntl.ioctl(t.fd, termios.TIOCSWINSZ, b"\x20\0\x60\0\0\0\0\0")))


def job_control(prefix):
    """In an interactive shell: start, Ctrl-Z, jobs, fg, a line of input, end."""
    t = Terminal(["bash", "--norc", "--noprofile", "-i"])
    try:
        t.wait_for(b"$ ")
        t.send(("%s %s +tick %s x\n" % (prefix, state, where)).encode())
        at = t.wait_for(b"\nready")
        t.send(b"\x1a")
        at = t.wait_for(b"Stopped", at)
        at = t.wait_for(b"$ ", at)
        t.send(b"echo still $((40+2))\n")
        at = t.wait_for(b"still 42\r", at)
        t.send(b"fg\n")
        at = t.wait_for(b"continued", at)
        t.send(b"words\n")
        at = t.wait_for(b"got words", at)
        t.send(b"echo status $?\n")
        at = t.wait_for(b"status 0", at)
        # In the background from the start, then brought back.
        t.send(("%s %s +wait %s &\n" % (prefix, state, where)).encode())
        at = t.wait_for(b"ready", at)
        t.send(b"fg\n")
        time.sleep(0.3)
        t.send(b"\x03")
        at = t.wait_for(b"$ ", at)
        t.send(b"echo status $?\n")
        at = t.wait_for(b"status 130", at)
        t.send(b"exit\n")
        return None
    except TimeoutError as e:
        return e
    finally:
        try:
            os.kill(t.pid, signal.SIGHUP)
        except OSError:
            pass
        t.end()


plain = job_control("")
if plain:
    number += 1
    print("ok %d - %s: job control # SKIP it does not work here without the recorder: %s"
          % (number, who, str(plain)[:100].replace("\n", " ")))
else:
    why = job_control("%s run --" % stemma)
    ok(why is None, "job control: Ctrl-Z, fg, bg", why)

# The number of tests, for the script.
with open(os.path.join(where, "count"), "w") as f:
    f.write("%d\n" % number)
