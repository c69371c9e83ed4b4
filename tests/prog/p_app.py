"""The list of p-app.c in Python."""
import threading

import stemma

stemma.type('training')
stemma.config('learning_rate', 0.01, version='v2')
stemma.configs({'batch size': 32})
stemma.config('words', 'Gr\u00fc\u00dfe\n\u65e5\u672c')
stemma.config('large', 'x' * 2**20)
stemma.metric('accuracy', 0.5, step=1)
stemma.metric('accuracy', 0.75, 2)
stemma.metric('accuracy', 0.625, step=3)
stemma.metric('loss', 0.25)
with stemma.activity('epoch'):
    with stemma.activity('batch'):
        stemma.used('input.csv')
stemma.generated('model.bin')
stemma.tag('purpose', 'test')


@stemma.activity('worker')
def work():
    stemma.metric('threaded', 1, 0)


thread = threading.Thread(target=work)
thread.start()
thread.join()
print(int(stemma.present()), stemma.run() or '-')
