"""browser.py - a Chromium without a window, driven by its protocol over two pipes: opens pages, types, asks.

    with Browser(program, folder) as b:
        b.open('file:///...'); b.eval('document.title'); b.key('ArrowDown')
    b.said      what the page wrote to its console, errors and violations of its policy among them
    b.asked     addresses that it wanted to load
"""

import json
import os
import select
import signal
import subprocess
import time


class Browser:
    def __init__(self, program, folder, width=1440, height=900, wait=120):
        to_read, self.to = os.pipe()
        self.of, to_write = os.pipe()
        self.wait, self.number, self.text, self.said, self.asked, self.dead = wait, 0, b'', [], [], False

        def pipes():
            os.setsid()
            a, b = os.dup(to_read), os.dup(to_write)  # so that neither is 3 or 4 already
            os.dup2(a, 3)
            os.dup2(b, 4)

        self.process = subprocess.Popen(
            [program, '--headless', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--no-first-run', '--disable-extensions',
             '--disable-background-networking', '--remote-debugging-pipe', '--user-data-dir=' + folder, f'--window-size={width},{height}'],
            preexec_fn=pipes, pass_fds=(3, 4), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(to_write)
        self.session = None
        target = self.call('Target.createTarget', url='about:blank')['targetId']
        self.session = self.call('Target.attachToTarget', targetId=target, flatten=True)['sessionId']
        for domain in ('Page', 'Runtime', 'Log', 'Network'):
            self.call(domain + '.enable')
        self.size(width, height)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()

    def message(self):
        end = time.monotonic() + self.wait
        while b'\0' not in self.text:
            if not select.select([self.of], [], [], max(0, end - time.monotonic()))[0]:
                raise TimeoutError('the browser says nothing')
            part = os.read(self.of, 1 << 20)
            if not part:
                raise EOFError('the browser has ended')
            self.text += part
        one, self.text = self.text.split(b'\0', 1)
        m = json.loads(one)
        method, p = m.get('method'), m.get('params', {})
        if method == 'Runtime.exceptionThrown':
            self.said.append(p['exceptionDetails'].get('exception', {}).get('description') or p['exceptionDetails']['text'])
        elif method == 'Runtime.consoleAPICalled':
            self.said.append(' '.join(str(a.get('value')) for a in p['args']))
        elif method == 'Log.entryAdded':
            self.said.append(p['entry']['text'])
        elif method == 'Network.requestWillBeSent':
            self.asked.append(p['request']['url'])
        return m

    def call(self, method, **params):
        self.number += 1
        m = {'id': self.number, 'method': method, 'params': params}
        if self.session:
            m['sessionId'] = self.session
        os.write(self.to, json.dumps(m).encode() + b'\0')
        while True:
            answer = self.message()
            if answer.get('id') == self.number:
                if 'error' in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer['result']

    def open(self, url):
        """A new page, even where only the fragment differs; returns when it is loaded."""
        self.call('Page.navigate', url='about:blank')
        self.until("location.href === 'about:blank' && document.readyState === 'complete'")
        self.call('Page.navigate', url=url)
        self.until("location.href !== 'about:blank' && document.readyState === 'complete'")

    def eval(self, script):
        r = self.call('Runtime.evaluate', expression=script, returnByValue=True, awaitPromise=True)
        if 'exceptionDetails' in r:
            raise RuntimeError(r['exceptionDetails'].get('exception', {}).get('description'))
        return r['result'].get('value')

    def until(self, script):
        end = time.monotonic() + self.wait
        while True:
            try:
                if self.eval(script):
                    return
            except RuntimeError:
                pass  # between two pages
            if time.monotonic() > end:
                raise TimeoutError(script)
            time.sleep(0.05)

    def key(self, key):
        text = {'Enter': '\r', ' ': ' '}.get(key)
        for kind in ('keyDown', 'keyUp'):
            extra = {'text': text} if text and kind == 'keyDown' else {}
            code = {'Enter': 13, ' ': 32, 'Tab': 9, 'Escape': 27}.get(key, 0)
            self.call('Input.dispatchKeyEvent', type=kind, key=key, code='Space' if key == ' ' else key, windowsVirtualKeyCode=code, **extra)

    def type(self, text):
        self.call('Input.insertText', text=text)

    def size(self, width, height):
        self.call('Emulation.setDeviceMetricsOverride', width=width, height=height, deviceScaleFactor=1, mobile=False)

    def scheme(self, dark):
        self.call('Emulation.setEmulatedMedia', features=[{'name': 'prefers-color-scheme', 'value': 'dark' if dark else 'light'}])

    def click(self, selector):
        self.eval(f'document.querySelector({json.dumps(selector)}).scrollIntoView({{block: "center"}})')
        x, y = self.eval(f'(r => [r.x + r.width / 2, r.y + r.height / 2])(document.querySelector({json.dumps(selector)}).getBoundingClientRect())')
        for kind in ('mousePressed', 'mouseReleased'):
            self.call('Input.dispatchMouseEvent', type=kind, x=x, y=y, button='left', clickCount=1)

    def picture(self, path, full=False):
        import base64
        r = self.call('Page.captureScreenshot', captureBeyondViewport=full)
        with open(path, 'wb') as f:
            f.write(base64.b64decode(r['data']))
