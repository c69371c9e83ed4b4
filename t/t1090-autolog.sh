#!/bin/sh
# stemma run --autolog: parameters and metrics of Python libraries, without a change to the program. The truth is what the programs below
# set and print. Libraries that this machine lacks are met by modules written after their documentation (keras, mlflow).
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"
[ -e "$BUILD/bindings/stemma_autolog.py" ] || {
	echo "1..0 # SKIP no hook in $BUILD/bindings"
	exit
}
export PYTHONPATH="$here/bindings/python" PYTHONDONTWRITEBYTECODE=1
# has MODULE: a Python that has it
has()
{
	for python in "$PYTHON" python3 /usr/bin/python3; do
		"$python" -c "import $1" >/dev/null 2>&1 && return 0
	done
	echo "ok $((count = count + 1)) # SKIP no Python here has $1"
	return 1
}
# told KIND NAME: what the last run said
told()
{
	"$STEMMA" sql --csv "SELECT coalesce(a.value, a.number) FROM annotation a, (SELECT id FROM run ORDER BY began DESC LIMIT 1) r
 WHERE a.run = r.id AND a.kind = '$1' AND a.name = '$2' ORDER BY a.step" 2>"$err" | tr -d '\r' | sed '1d; s/^"\(.*\)"$/\1/' | tr '\n' ' ' | sed 's/ $//'
}
# equals KIND NAME TEXT
equals()
{
	got=$(told "$1" "$2")
	[ "$got" = "$3" ] || {
		echo "$1 $2: '$got', not '$3'" >>"$err"
		return 1
	}
}

cat >plain.py <<'END'
import argparse, os, sys
p = argparse.ArgumentParser()
p.add_argument('--rate', type=float, default=0.5)
p.add_argument('--password')
p.add_argument('--layers', type=int, nargs='*', default=[])
p.add_argument('--name')
a = p.parse_args()
print(a.rate, a.layers, [one for one in sys.path if 'autolog' in one or one.endswith('/bindings')], argparse.__spec__.loader.__class__.__name__)
END
$PYTHON plain.py --rate 0.25 --layers 3 4 --password hunter2secret >"$T/alone" && cmd 0 run --autolog -- $PYTHON plain.py --rate 0.25 --layers 3 4 --password hunter2secret &&
	cmp "$out" "$T/alone" && equals config rate 0.25 && equals config layers 3,4 && equals config name None && ! grep -r hunter2secret "$STEMMA_HOME"
check 'argparse: what a program was called with; it prints what it prints without; a secret is redacted'
cmd 0 run -q -- $PYTHON plain.py --rate 0.125 && equals config rate ''
check 'nothing of this without --autolog'
mkdir own && echo 'print("mine")' >own/sitecustomize.py && PYTHONPATH=$T/work/own:$PYTHONPATH cmd 0 run -q --autolog -- $PYTHON plain.py --rate 2 &&
	says "$out" mine '2.0 ' && equals config rate 2.0
check "the user's own sitecustomize runs as ever"
cat >bad.py <<'END'
import argparse
class Odd:
    def __str__(self): raise ValueError('odd')
    def __float__(self): raise ValueError('odd')
p = argparse.ArgumentParser()
p.add_argument('--x', default=Odd())
p.add_argument('--y', type=int)
try:
    p.parse_args(['--y', 'none'])
except SystemExit as e:
    print('ended', e.code)
p.parse_args(['--y', '7'])
raise SystemExit(3)
END
cmd 3 run -q --autolog -- $PYTHON bad.py && is "$out" 'ended 2' && equals config y 7
check 'errors of the program are its own, and values that cannot be told do no harm'

mkdir shadow && cat >shadow/stemma.py <<'END'
import argparse
print('work by', __name__)
p = argparse.ArgumentParser()
p.add_argument('--rate', type=float)
p.parse_args()
END
for name in ctypes struct _ctypes importlib; do
	echo 'raise SystemExit(9)' >"shadow/$name.py"
done
cmd 0 run -q --autolog -- $PYTHON shadow/stemma.py --rate 0.375 && is "$out" 'work by __main__' && equals config rate 0.375
check "a program's own files that are called as modules which the hook needs are not run"
cat >values.py <<'END'
import argparse
class Item:
    @property
    def item(self): print('side effect')
class Text(str):
    def __str__(self): print('side effect'); raise SystemExit(4)
class Number(float):
    def __float__(self): raise SystemExit(4)
p = argparse.ArgumentParser()
p.add_argument('--a', default=Item())
p.add_argument('--b', default=Text('word'))
p.add_argument('--c', default=Number(0.5))
p.parse_args([])
END
cmd 0 run -q --autolog -- $PYTHON values.py && ! [ -s "$out" ] && equals config b word && equals config c 0.5
check 'values are read without calling what the program has defined'

has sklearn && {
	cat >learn.py <<'END'
import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, confusion_matrix, make_scorer
from sklearn.model_selection import GridSearchCV, cross_val_score
import pickle
r = np.random.RandomState(3)
X = r.rand(60, 3)
y = (X[:, 0] > .5).astype(int)
m = LogisticRegression(C=0.125).fit(X, y)
print('score', repr(float(m.score(X, y))))
confusion_matrix(y, m.predict(X))
print('accuracy', repr(float(accuracy_score(y, m.predict(X)))))
g = GridSearchCV(LogisticRegression(), {'C': [.25, 4]}, n_jobs=2, cv=3).fit(X, y)
print('best', g.best_params_['C'], repr(float(g.best_score_)))
RandomForestClassifier(n_estimators=7, n_jobs=2, random_state=0).fit(X, y)
print('mean', repr(float(cross_val_score(m, X, y, cv=3).mean())))
GridSearchCV(LogisticRegression(), {'C': [.25, 4]}, n_jobs=2, cv=3, scoring='accuracy').fit(X, y)
GridSearchCV(LogisticRegression(), {'C': [.25, 4]}, n_jobs=2, cv=3, scoring=make_scorer(accuracy_score)).fit(X, y)
assert pickle.loads(pickle.dumps(m)).C == m.C and pickle.loads(pickle.dumps(accuracy_score)) is accuracy_score
END
	"$python" learn.py >"$T/alone" 2>"$err" && cmd 0 run -q --autolog -- "$python" learn.py && cmp "$out" "$T/alone"
	check 'sklearn: the program prints the same'
	of()
	{
		sed -n "s/^$1 //p" "$T/alone"
	}
	equals config LogisticRegression.C 0.125 && equals metric LogisticRegression.score "$(of score)" && equals metric accuracy_score "$(of accuracy)" &&
		[ "$(told config GridSearchCV.best.C | cut -d' ' -f1) $(told metric GridSearchCV.best_score | cut -d' ' -f1)" = "$(of best)" ] && equals metric cross_val_score.mean "$(of mean)" &&
		equals config RandomForestClassifier.n_estimators 7
	check '... and its parameters, scores and the best of a search stand in the record'
	equals config DecisionTreeClassifier.criterion '' && equals config process_name '' && equals metric confusion_matrix ''
	check '... once each: trees of a forest, tasks of a search and tables are not told'
	sed 's/C=0.125/C=0.5/' learn.py >learn2.py && cmd 0 run -q --autolog -- "$python" learn2.py && cmd 0 table && says "$out" 'LogisticRegression.C' && says "$out" 0.125 && says "$out" 0.5
	check '... and are columns of stemma table'
}
has xgboost && {
	cat >boost.py <<'END'
import numpy as np
import xgboost as xgb
r = np.random.RandomState(1)
X = r.rand(60, 3)
d = xgb.DMatrix(X, label=(X[:, 0] > .5).astype(int))
seen = {}
xgb.train({'max_depth': 2, 'objective': 'binary:logistic', 'eval_metric': 'logloss'}, d, num_boost_round=3, evals=[(d, 'learn')], evals_result=seen, verbose_eval=False)
print(*[repr(float(v)) for v in seen['learn']['logloss']])
xgb.train({'max_depth': 3, 'eval_metric': 'rmse'}, d, 2, evals=[(d, 'other')], verbose_eval=False)
END
	"$python" boost.py >"$T/alone" 2>"$err" && cmd 0 run -q --autolog -- "$python" boost.py && cmp "$out" "$T/alone" && equals metric learn.logloss "$(cat "$T/alone")" &&
		[ "$(told metric other.rmse | wc -w)" = 2 ] && equals config xgboost.objective binary:logistic && equals config xgboost.num_boost_round '3 2'
	check 'xgboost: parameters, and each metric by iteration'
}
has torch && {
	cat >net.py <<'END'
import torch
from torch.utils.data import DataLoader, TensorDataset
torch.manual_seed(0)
X = torch.rand(20, 2)
m = torch.nn.Linear(2, 1)
o = torch.optim.Adam(m.parameters(), lr=0.0625)
for a, b in DataLoader(TensorDataset(X, X.sum(1, keepdim=True)), batch_size=5):
    o.zero_grad()
    l = ((m(a) - b) ** 2).mean()
    l.backward()
    o.step()
print(float(l))
END
	"$python" net.py >"$T/alone" 2>"$err" && cmd 0 run -q --autolog -- "$python" net.py && cmp "$out" "$T/alone" && equals config Adam.lr 0.0625 && equals config DataLoader.batch_size 5
	check 'torch: settings of the optimizer, batch size'
}
mkdir -p fixture/keras && cat >fixture/mlflow.py <<'END'
def log_param(key, value): return value
def log_params(params): pass
def log_metric(key, value, step=None): pass
def log_metrics(metrics, step=None):
    for key, value in metrics.items():
        log_metric(key, value, step)
END
cat >fixture/keras/__init__.py <<'END'
class History:
    def __init__(self, history): self.history = history
class Adam:
    def get_config(self): return {'name': 'Adam', 'learning_rate': 0.03125}
class Model:
    optimizer = Adam()
    def fit(self, x=None, y=None, batch_size=None, epochs=1): return History({'loss': [0.5, 0.25][:epochs]})
END
cat >fixed.py <<'END'
import keras, mlflow
mlflow.log_param('depth', 4)
mlflow.log_params({'kind': 'tree', 'list': [1, 2]})
for step in range(2):
    mlflow.log_metric('mae', 1 / (step + 2), step=step)
mlflow.log_metrics({'r2': 0.75})
keras.Model().fit([1], [2], epochs=2)
END
PYTHONPATH=$T/work/fixture:$PYTHONPATH cmd 0 run -q --autolog -- $PYTHON fixed.py && equals config depth 4 && equals config list '[1, 2]' && equals metric r2 0.75 &&
	equals metric mae '0.5 0.3333333333333333' && equals metric loss '0.5 0.25' && equals config Adam.learning_rate 0.03125
check 'mlflow and keras, as modules of that shape: each figure once'
finish
