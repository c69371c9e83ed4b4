"""train.py CONFIG TRAIN TEST MODEL HISTORY - trains a small graph network to tell triples of jets of a top quark from others.

Each jet is a node with its four-momentum; each node hears the sum of the others (one round of messages); the nodes' sum
decides. HISTORY gets the accuracy after each epoch, in the program's own form: what the record says can be held against it.
"""
import configparser
import sys

import numpy as np

import stemma


class Network:
    """tanh of node and neighbours, summed over the nodes, tanh again, one output."""

    def __init__(self, hidden, rng):
        self.own = rng.normal(0, 0.5, (4, hidden))
        self.others = rng.normal(0, 0.5, (4, hidden))
        self.middle = rng.normal(0, 0.5, (hidden, hidden))
        self.out = rng.normal(0, 0.5, hidden)
        self.bias = np.zeros(hidden)

    def forward(self, x):
        others = x.sum(axis=1, keepdims=True) - x
        nodes = np.tanh(x @ self.own + others @ self.others + self.bias)
        graph = np.tanh(nodes.sum(axis=1) @ self.middle)
        return others, nodes, graph, 1 / (1 + np.exp(-np.clip(graph @ self.out, -30, 30)))

    def step(self, x, y, rate):
        others, nodes, graph, p = self.forward(x)
        error = (p - y) / len(y)
        d_graph = np.outer(error, self.out) * (1 - graph**2)
        d_nodes = (d_graph @ self.middle.T)[:, None, :] * (1 - nodes**2)
        self.out -= rate * graph.T @ error
        self.middle -= rate * nodes.sum(axis=1).T @ d_graph
        self.own -= rate * np.einsum('bni,bnh->ih', x, d_nodes)
        self.others -= rate * np.einsum('bni,bnh->ih', others, d_nodes)
        self.bias -= rate * d_nodes.sum(axis=(0, 1))

    def accuracy(self, x, y):
        return float(((self.forward(x)[-1] > 0.5) == y).mean())


def load(path):
    data = np.load(path)
    return data['jets'].astype(float) / 100, data['is_top']


def main():
    config = configparser.ConfigParser()
    config.read(sys.argv[1])
    network = config['network']
    stemma.type('training')
    stemma.configs({'network': network}, version=config['workflow']['version'])
    x, y = load(sys.argv[2])
    test_x, test_y = load(sys.argv[3])
    rng = np.random.default_rng(network.getint('seed'))
    model = Network(network.getint('hidden'), rng)
    batch = network.getint('batch')
    with open(sys.argv[5], 'w', encoding='utf-8') as history:
        for epoch in range(1, network.getint('epochs') + 1):
            with stemma.activity('epoch'):
                order = rng.permutation(len(x))
                for at in range(0, len(x), batch):
                    picked = order[at:at + batch]
                    model.step(x[picked], y[picked], network.getfloat('rate'))
                accuracy = model.accuracy(test_x, test_y)
                stemma.metric('accuracy', accuracy, epoch)
            print(epoch, repr(accuracy), file=history)
    np.savez(sys.argv[4], **vars(model))
    stemma.generated('top quark model')


main()
