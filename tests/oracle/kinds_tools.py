"""kinds_tools.py - the kinds of steps that shells, usual tools and Python make (kinds.py)."""
from kinds import PYTHON, alone, kind


# Shells and tools: the truth stands beside the command.


@kind
def sh_cat(m):
    i, o = m.source(), m.output()
    m.shell(f'cat {i} >{o}', (o, [i]))


@kind
def sh_redirected_input(m):
    i, o = m.source(), m.output()
    m.shell(f'sort <{i} >{o}', (o, [i]))


@kind
def sh_two_inputs(m):
    i, j, o = m.source(), m.source(), m.output()
    m.shell(f'paste {i} {j} >{o}', (o, [i, j]))


@kind
def sh_pipeline(m):
    i, o = m.source(), m.output()
    m.shell(f'cat {i} | sort | uniq >{o}', (o, [i]))


@kind
def sh_pipeline_and_file(m):
    i, j, o = m.source(), m.source(), m.output()
    m.shell(f'cat {i} | paste - {j} >{o}', (o, [i, j]))


@kind
def sh_input_redirected_unused(m):
    i, d, o = m.source(), m.source(), m.output()
    m.shell(f'cat {i} <{d} >{o}', (o, [i]))


@kind
def sh_pipe_to_who_reads_a_file(m):
    i, d, o = m.source(), m.source(), m.output()
    m.shell(f'tail -c 20 {d} | cat {i} >{o}', (o, [i]))


@kind
def sh_shell_read_another(m):
    i, d, o = m.source(), m.source(), m.output()
    m.shell(f'read x <{d}; cat {i} >{o}', (o, [i], [d]))


@kind
def sh_descriptor_left_open(m):
    i, d, o = m.source(), m.source(), m.output()
    m.shell(f'exec 3<{d}; cat {i} >{o}', (o, [i]))


@kind
def sh_descriptor_of_one_command(m):
    i, d, o = m.source(), m.source(), m.output()
    m.shell(f'cat {i} 3<{d} >{o}', (o, [i]))


@kind
def sh_read_by_descriptor(m):
    i, o = m.source(), m.output()
    m.shell(f'exec 3<{i}; cat <&3 >{o}', (o, [i]))


@kind
def sh_another_command_before(m):
    i, d, o = m.source(), m.source(), m.output()
    m.shell(f'cat {d} >/dev/null; cat {i} >{o}', (o, [i]))


def overwritten_by_redirection(m, shell):
    i, d, o = m.source(), m.source(), m.output()
    m.shell(f'cat {d} >{o}; cat {i} >{o}', (o, [i]), shell=shell)


@kind
def dash_overwritten_by_redirection(m):
    overwritten_by_redirection(m, 'dash')


@kind
def bash_overwritten_by_redirection(m):
    overwritten_by_redirection(m, 'bash')


def redirected_one_by_one(m, shell):
    i, j, o, p = m.source(), m.source(), m.output(), m.output()
    m.shell(f'tr a b <{i} >{o}; tr a b <{j} >{p}', (o, [i]), (p, [j]), shell=shell)


@kind
def dash_redirected_one_by_one(m):
    """dash opens them in a child that has its memory (vfork)."""
    redirected_one_by_one(m, 'dash')


@kind
def bash_redirected_one_by_one(m):
    redirected_one_by_one(m, 'bash')


@kind
def dash_writes_after_a_redirected_command(m):
    i, j, o = m.source(), m.source(), m.output()
    m.shell(f'sort <{i} >/dev/null; read x <{j}; echo "$x" >{o}', (o, [j]), shell='dash')


@kind
def dash_writes_before_a_redirected_command(m):
    i, j, o = m.source(), m.source(), m.output()
    m.shell(f'read x <{j}; echo "$x" >{o}; sort <{i} >/dev/null', (o, [j]), shell='dash')


@kind
def sh_header_and_body(m):
    """One file is read and not closed while others are made."""
    i, d, o = m.source(), m.source(), m.output()
    m.shell(f'exec 3<{d}; read x <&3; sort {i} >{o}', (o, [i], [d]))


@kind
def git_add_and_checkout(m):
    """One program reads one file and writes it. What git's index tells of the other file is content of the index, not of the file."""
    i, t, o = m.source(), m.temporary(), m.output('.d')
    m.step.makes[-1] = f'{o}/f'
    m.shell(f'git init -q {o} && cd {o} && cp ../{i} f && git add f && rm f && git checkout -q -- f', (f'{o}/f', [i]), direct=())


@kind
def sh_appended(m):
    i, j, o = m.source(), m.source(), m.output()
    m.shell(f'cat {i} >{o}; cat {j} >>{o}', (o, [i, j]))


@kind
def sh_only_emptied(m):
    d, o = m.source(), m.output()
    m.shell(f'cat {d} >{o}; : >{o}', (o, []))
    m.step.last.append(o)


@kind
def sh_group(m):
    i, j, o = m.source(), m.source(), m.output()
    m.shell(f'{{ cat {i}; cat {j}; }} >{o}', (o, [i, j]))


@kind
def sh_subshell(m):
    i, j, o = m.source(), m.source(), m.output()
    m.shell(f'(cat {i}; sort {j}) >{o}', (o, [i, j]))


@kind
def sh_output_within_output(m):
    i, j, o, p = m.source(), m.source(), m.output(), m.output()
    m.shell(f'{{ cat {i}; cat {j} >{p}; }} >{o}', (o, [i]), (p, [j]))


@kind
def sh_loop_over_files(m):
    i, j, o = m.source(), m.source(), m.output()
    m.shell(f'for f in {i} {j}; do cat $f; done >{o}', (o, [i, j]))


@kind
def sh_loop_of_redirections(m):
    i, j, o, p = m.source(), m.source(), m.output(), m.output()
    m.shell(f'set -- {o} {p}; for f in {i} {j}; do sort $f >$1; shift; done', (o, [i]), (p, [j]))


@kind
def sh_while_read(m):
    i, o = m.source(), m.output()
    m.shell(f'while read -r x; do echo "$x"; done <{i} >{o}', (o, [i]))


@kind
def sh_while_read_appends(m):
    i, o = m.source(), m.output()
    m.shell(f'while read -r x || [ -n "$x" ]; do echo "$x" >>{o}; done <{i}', (o, [i]))


@kind
def sh_while_read_names(m):
    i, n, o = m.source(), m.temporary(), m.output()
    m.shell(f'echo {i} >{n}; while read -r f; do cat $f; done <{n} >{o}', (n, []), (o, [i], [n]))


@kind
def sh_pipe_to_while_read(m):
    i, o = m.source(), m.output()
    m.shell(f'sort {i} | while read -r x; do echo "$x"; done >{o}', (o, [i]))


@kind
def sh_here_document(m):
    i, o = m.source(), m.output()
    m.shell(f'cat {i} - >{o} <<E\nwords\nE\n', (o, [i]))


@kind
def sh_here_document_unused(m):
    i, d, o = m.source(), m.source(), m.output()
    m.shell(f'cat {i} >{o} <<E\n$(cat {d})\nE\n', (o, [i], [d]))


@kind
def sh_here_document_with_content(m):
    i, o = m.source(), m.output()
    m.shell(f'cat >{o} <<E\n$(cat {i})\nE\n', (o, [i]))


@kind
def sh_command_substitution(m):
    i, o = m.source(), m.output()
    m.shell(f'x=$(cat {i}); echo "$x" >{o}', (o, [i]))


@kind
def sh_substitution_as_argument(m):
    i, o = m.source(), m.output()
    m.shell(f'/bin/echo "$(cat {i})" >{o}', (o, [i]))


@kind
def sh_substitution_unused(m):
    i, d, o = m.source(), m.source(), m.output()
    m.shell(f'x=$(cat {d}); cat {i} >{o}', (o, [i], [d]))


@kind
def sh_substitution_in_subshell(m):
    i, o = m.source(), m.output()
    m.shell(f'x=$(cat {i}); (echo "$x") >{o}', (o, [i]))


@kind
def sh_read_one_line(m):
    i, o = m.source(), m.output()
    m.shell(f'read -r x <{i}; echo "$x" >{o}', (o, [i]))


@kind
def sh_status_only(m):
    i, d, o = m.source(), m.source(), m.output()
    m.shell(f'if grep -q . {d}; then cat {i} >{o}; fi', (o, [i], [d]))


@kind
def sh_process_substitution(m):
    i, j, o = m.source(), m.source(), m.output()
    m.shell(f'paste <(sort {i}) <(sort {j}) >{o}', (o, [i, j]), shell='bash')


@kind
def sh_tee(m):
    i, o, p = m.source(), m.output(), m.output()
    m.shell(f'cat {i} | tee {o} | sort >{p}', (o, [i]), (p, [i]))


@kind
def sh_tee_to_processes(m):
    i, o, p = m.source(), m.output(), m.output()
    m.shell(f'tee >(sort >{p}; echo x >{p}.end) <{i} >{o}; until [ -e {p}.end ]; do sleep 0.01; done', (o, [i]), (p, [i]), shell='bash')


@kind
def sh_here_string(m):
    i, o = m.source(), m.output()
    m.shell(f'x=$(cat {i}); cat <<<"$x" >{o}', (o, [i]), shell='bash')


@kind
def sh_beside(m):
    i, j, o, p = m.source(), m.source(), m.output(), m.output()
    m.shell(f'cat {i} >{o} & cat {j} >{p} & wait', (o, [i]), (p, [j]))


@kind
def sh_xargs(m):
    i, j, o = m.source(), m.source(), m.output()
    m.shell(f'printf "%s\\n" {i} {j} | xargs cat >{o}', (o, [i, j]))


@kind
def sh_find_xargs(m):
    i, o = m.source(), m.output()
    m.shell(f'find . -name {i.split("/")[-1]} -print0 | xargs -0 sort >{o}', (o, [i]))


@kind
def sh_environment(m):
    i, o = m.source(), m.output()
    m.shell(f'X=$(cat {i}) printenv X >{o}', (o, [i]))


@kind
def sh_output_of_the_shell_itself(m):
    i, j, o = m.source(), m.source(), m.output()
    m.shell(f'exec >{o}; cat {i}; sort {j}', (o, [i, j]))


@kind
def sh_input_of_the_shell_itself(m):
    i, o = m.source(), m.output()
    m.shell(f'exec <{i}; sort >{o}', (o, [i]))


@kind
def sh_descriptor_for_two_commands(m):
    i, j, o = m.source(), m.source(), m.output()
    m.shell(f'exec 4>{o}; cat {i} >&4; cat {j} >&4; exec 4>&-', (o, [i, j]))


@kind
def sh_two_descriptors_left_open(m):
    """The two outputs of a loop, each open all the time."""
    i, j, o, p = m.source(), m.source(), m.output(), m.output()
    m.shell(f'exec 4>{o} 5>{p}; cat {i} >&4; cat {j} >&5', (o, [i]), (p, [j]))


@kind
def sh_errors_beside(m):
    i, o, p = m.source(), m.output(), m.output()
    m.step.last.append(p)
    m.shell(f'sort {i} >{o} 2>{p}', (o, [i]), (p, []))


@kind
def sh_function_with_redirection(m):
    i, j, o = m.source(), m.source(), m.output()
    m.shell(f'f() {{ cat $1; sort $2; }}; f {i} {j} >{o}', (o, [i, j]))


@kind
def sh_fifo(m):
    i, t, o = m.source(), m.temporary(), m.output()
    m.shell(f'mkfifo {t}; cat {i} >{t} & sort <{t} >{o}; wait', (o, [i]))


@kind
def sh_sourced_file(m):
    """Lines that the shell reads and obeys; what it writes itself comes from a program that had them."""
    i, t, o = m.source(), m.temporary(), m.output()
    m.shell(f'echo x=words >{t}; cat {i} >>{t}.i; . ./{t}; echo "$x" >{o}', (t, []), (f'{t}.i', [i]), (o, [t]), direct=())


@kind
def sh_script_file(m):
    """A script is read by its shell; the program that it starts writes the output."""
    i, t, o = m.source(), m.temporary(), m.output()
    m.shell(f'echo "cat {i} >{o}" >{t}; dash {t}', (t, []), (o, [i], [t]), direct=[i])


@kind
def sh_nested_shells(m):
    i, o = m.source(), m.output()
    m.shell(f'dash -c "bash -c \'sort {i}\' >{o}"', (o, [i]))


@kind
def sh_wrapped_command(m):
    i, o = m.source(), m.output()
    m.shell(f'timeout 60 env A=b nice sort {i} >{o}', (o, [i]))


@kind
def sh_xargs_in_parallel(m):
    i, j, o, p = m.source(), m.source(), m.output(), m.output()
    m.shell(f'printf "%s %s\\n" {i} {o} {j} {p} | xargs -P 2 -n 2 cp', (o, [i]), (p, [j]))


@kind
def sh_temporary_file(m):
    i, o = m.source(), m.output()
    m.shell(f't=$(mktemp -p .); trap "rm $t" EXIT; sort {i} >"$t"; uniq "$t" >{o}', (o, [i]), direct=())


@kind
def sh_checked_then_made(m):
    """The usual test for a file that is newer."""
    i, d, o = m.source(), m.source(), m.output()
    m.shell(f'if [ ! {o} -nt {d} ]; then sort {i} >{o}; fi', (o, [i]))


@kind
def sh_checksums_then_made(m):
    i, d, o, p = m.source(), m.source(), m.output(), m.output()
    m.shell(f'md5sum {d} >{p}; md5sum -c --quiet {p} && sort {i} >{o}', (p, [d]), (o, [i], [p, d]))


@kind
def sh_many_lines(m):
    """More than a pipe holds."""
    i, o = m.source(), m.output()
    m.shell(f'for n in 1 2 3 4 5 6 7 8 9 10; do cat {i} {i} {i} {i} {i} {i} {i} {i}; done | sort | tail -n 5 >{o}', (o, [i]))


# Tools that write the file themselves.


@kind
def cp(m):
    i, o = m.source(), m.output()
    m.shell(f'cp {i} {o}', (o, [i]))


@kind
def mv(m):
    i, t, o = m.source(), m.temporary(), m.output()
    m.shell(f'cp -p {i} {t}; mv {t} {o}', (o, [i]))


@kind
def dd_into_the_middle(m):
    i, j, o = m.source(), m.source(), m.output()
    m.shell(f'cat {i} {i} >{o}; dd if={j} of={o} bs=10 count=1 conv=notrunc 2>/dev/null', (o, [i, j]), direct=[j])


@kind
def sed_in_place(m):
    i, o = m.source(), m.output()
    m.shell(f'cp {i} {o}; sed -i s/a/b/ {o}', (o, [i]), direct=())


@kind
def sort_onto_itself(m):
    i, o = m.source(), m.output()
    m.shell(f'cp {i} {o}; sort -o {o} {o}', (o, [i]), direct=())


@kind
def tar_and_back(m):
    i, j, t, o, p = m.source(), m.source(), m.temporary(), m.output('.d'), m.output('.d')
    m.step.makes[-2:] = [f'{o}/{i}', f'{p}/{j}']
    m.shell(f'tar --hard-dereference -cf {t} {i} {j}; mkdir {o} {p}; tar xf {t} -C {o} {i}; tar xf {t} -C {p} {j}', (t, [i, j]), (f'{o}/{i}', [t]),
            (f'{p}/{j}', [t]))


@kind
def gzip_and_back(m):
    i, t, o = m.source(), m.temporary(), m.output()
    m.shell(f'gzip -c {i} >{t}; gzip -dc {t} >{o}', (t, [i]), (o, [t]))


@kind
def gzip_in_place(m):
    i, o = m.source(), m.output('.gz')
    m.shell(f'cp {i} {o[:-3]}; gzip -n {o[:-3]}', (o, [i]), direct=())


@kind
def awk_several_outputs(m):
    """Both are written at the end, from awk's buffers."""
    i, j, o, p = m.source(), m.source(), m.output(), m.output()
    m.shell(f'awk \'FNR == NR {{ print >"{o}"; next }} {{ print >"{p}" }}\' {i} {j}', (o, [i, j]), (p, [i, j]))


@kind
def sed_writes_a_file(m):
    """Its output is written as it reads, the second file after the first."""
    i, o = m.source(), m.output()
    m.shell(f"sed -n 'w {o}' {i}", (o, [i]))


@kind
def diff_and_patch(m):
    i, j, j2, t, o = m.source(), m.source(), m.temporary(), m.temporary(), m.output()
    # Two files that are alike would differ in nothing, and what is no text is not compared.
    m.shell(f'(cat {j}; echo another) >{j2}; diff -a {i} {j2} >{t}; cp {i} {o}; patch -s {o} <{t} || exit 1', (j2, [j]), (t, [i, j2]), (o, [i, t]), direct=())


@kind
def split_and_joined(m):
    i, t, o = m.source(), m.temporary(), m.output()
    m.shell(f'split -l 3 {i} {t}.; cat {t}.* >{o}', (o, [i]), direct=())


@kind
def two_files_copied_by_one(m):
    """Each has what cp opened for it: of the first there is nothing in the second, though cp had read it."""
    i, j, t, o = m.source(), m.source(), m.temporary(), m.output('.d')
    m.step.makes[-1:] = [f'{o}/a', f'{o}/b']
    m.shell(f'mkdir {t} {o}; cp {i} {t}/a; cp {j} {t}/b; cp {t}/a {t}/b {o}', (f'{o}/a', [i]), (f'{o}/b', [j]), direct=())


@kind
def make_two_rules(m):
    i, j, t, o, p = m.source(), m.source(), m.temporary(), m.output(), m.output()
    rules = f'all: {o} {p}\\n{o}: {i}\\n\\tsort $< >$@\\n{p}: {j} {o}\\n\\tcat $< {o} >$@\\n'
    m.shell(f"printf '{rules}' >{t}; make -s -f {t}", (t, []), (o, [i], [t]), (p, [j, o], [t]))


@kind
def make_up_to_date(m):
    """The second make finds that nothing is to be done."""
    i, t, o = m.source(), m.temporary(), m.output()
    rules = f'{o}: {i}\\n\\tsort $< >$@\\n'
    m.shell(f"printf '{rules}' >{t}; make -s -f {t}; make -s -f {t}", (t, []), (o, [i], [t]))


@kind
def compiled(m):
    """The driver's temporary files are between."""
    t, o = m.temporary(), m.output('.o')
    m.step.last.append(o)
    i = m.source()
    m.shell(f'sed "s,.*,// &," {i} >{t}.h; echo "#include \\"{t}.h\\"" >{t}.c; cc -c -o {o} {t}.c', (f'{t}.h', [i]), (f'{t}.c', []),
            (o, [f'{t}.h', f'{t}.c']), direct=())


@kind
def sqlite_database(m):
    """A program of its own puts in, another one takes out."""
    i, t, o = m.source(), m.temporary(), m.output()
    code = (f"import sqlite3\nd = sqlite3.connect('{t}'); d.execute('create table t (x)')\n"
            f"d.execute('insert into t values (?)', (open('{i}').read(),)); d.commit()")
    back = f"import sqlite3\nopen('{o}', 'w').write(sqlite3.connect('{t}').execute('select x from t').fetchone()[0])"
    m.shell(f'{PYTHON} -I -c "{code}" && {PYTHON} -I -c "{back}"', (t, [i]), (o, [t]), direct=())


# Python


@kind
def py_read_write(m):
    m.python(f'''with at(open('{m.source()}', 'rb')) as i: x = got(i)
with at(open('{m.output()}', 'wb')) as o: put(o, x)''')


@kind
def py_opened_unread(m):
    m.python(f'''d = at(open('{m.source()}', 'rb'))
with at(open('{m.source()}', 'rb')) as i: x = got(i)
with at(open('{m.output()}', 'wb')) as o: put(o, x)''')


@kind
def py_replace(m):
    o = m.output()
    t = m.temporary()
    m.python(f'''with at(open('{m.source()}', 'rb')) as i: x = got(i)
with at(open('{t}', 'wb')) as o: put(o, x)
os.replace('{t}', '{o}'); say('rename', '{t}', '{o}')''')


@kind
def py_copyfile(m):
    i, o = m.source(), m.output()
    m.python(f"import shutil; shutil.copyfile('{i}', '{o}')")
    m.declare(o, [i])


@kind
def py_mmap(m):
    m.python(f'''import mmap
i = at(open('{m.source()}', 'rb'))
x = mmap.mmap(i.fileno(), 0, prot=mmap.PROT_READ)[:]; say('got', of(i))
with at(open('{m.output()}', 'wb')) as o: put(o, x)''')


@kind
def py_threads(m):
    m.python(f'''import threading
def work():
    global x
    with at(open('{m.source()}', 'rb')) as i: x = got(i)
t = threading.Thread(target=work); t.start(); t.join()
with at(open('{m.output()}', 'wb')) as o: put(o, x)''')


@kind
def py_output_of_a_program(m):
    i, o = m.source(), m.output()
    m.python(f'''import subprocess
x = subprocess.run(['sort', '{i}'], capture_output=True).stdout
with open('{o}', 'wb') as o: o.write(x)''')
    m.declare(o, [i])


@kind
def py_input_to_a_program(m):
    i, o = m.source(), m.output()
    m.python(f'''import subprocess
x = open('{i}', 'rb').read()
with open('{o}', 'wb') as o: subprocess.run(['sort'], input=x, stdout=o)''')
    m.declare(o, [i])


@kind
def py_program_with_its_files(m):
    """Python has read a file of its own, and starts a program that does not see it."""
    i, d, o = m.source(), m.source(), m.output()
    m.python(f'''import subprocess
x = open('{d}', 'rb').read()
subprocess.run(['sort', '-o', '{o}', '{i}'])''')
    m.declare(o, [i], [d])


@kind
def py_program_with_opened_output(m):
    i, d, o = m.source(), m.source(), m.output()
    m.python(f'''import subprocess
x = open('{d}', 'rb').read()
with open('{o}', 'wb') as o: subprocess.run(['sort', '{i}'], stdout=o)''')
    m.declare(o, [i], [d])


@kind
def py_times_of_outputs(m):
    """As a workflow system does behind a job: it has read much, and sets the times of what the job made."""
    i, d, o = m.source(), m.source(), m.output()
    m.python(f'''import subprocess
x = open('{d}', 'rb').read()
subprocess.run(['sort', '-o', '{o}', '{i}'])
os.utime('{o}')
os.chmod('{o}', 0o644)''')
    m.declare(o, [i], [d])


@kind
def py_workers(m):
    """A pool of processes: each reads its own file; the parent writes what it is given."""
    i, j, o = m.source(), m.source(), m.output()
    m.python(f'''import multiprocessing
def work(name): return open(name, 'rb').read()
with multiprocessing.get_context('fork').Pool(2) as pool: x = pool.map(work, ['{i}', '{j}'])
with open('{o}', 'wb') as o: o.write(b''.join(x))''')
    m.declare(o, [i, j])


@kind
def py_workers_write(m):
    """A pool of processes, each with a file of its own to read and to write."""
    i, j, o, p = m.source(), m.source(), m.output(), m.output()
    m.python(f'''import multiprocessing
def work(names):
    x = open(names[0], 'rb').read()
    with open(names[1], 'wb') as o: o.write(x)
ps = [multiprocessing.get_context('fork').Process(target=work, args=(n,)) for n in (('{i}', '{o}'), ('{j}', '{p}'))]
for p in ps: p.start()
for p in ps: p.join()''')
    m.declare(o, [i])
    m.declare(p, [j])


# What nobody records, between two runs. What comes from there cannot be found; what was there before must not stay certain where it is
# gone, and not be lost where it is not.


def behind_its_back(m, outside, second, *truths):
    """Of an output o that a run made from i: commands outside, with j; then a run that makes p of it. truths are those of o and p."""
    i, j, o, p = m.source(), m.source(), m.output(), m.output()
    names = {'i': i, 'j': j, 'o': o, 'p': p}
    m.shell(f'cat {i} >{o}')
    m.step.outside.append(outside.format(**names))
    m.then(second.format(**names))
    for output, sure, maybe in truths:
        m.step.then.declared.append((names[output], [names[s] for s in sure], [names[s] for s in maybe], {'direct': ()}))


@alone
def outside_overwritten(m):
    behind_its_back(m, 'cat {j} >{o}', 'cat {o} >{p}', ('o', '', 'j'), ('p', 'o', ''))


@alone
def outside_appended(m):
    behind_its_back(m, 'cat {j} >>{o}', 'cat {o} >{p}', ('o', 'i', 'j'), ('p', 'o', ''))


@alone
def outside_replaced(m):
    behind_its_back(m, 'cat {j} >{o}.new; mv {o}.new {o}', 'cat {o} >{p}', ('o', '', 'j'), ('p', 'o', ''))


@alone
def outside_renamed(m):
    behind_its_back(m, 'mv {o} {o}.x; mv {o}.x {o}', 'cat {o} >{p}', ('o', 'i', ''), ('p', 'o', ''))


@alone
def outside_touched(m):
    behind_its_back(m, 'touch {o}', 'cat {o} >{p}', ('o', 'i', ''), ('p', 'o', ''))


@alone
def outside_copied_over(m):
    """With the times and the size of before."""
    behind_its_back(m, 'cp -p {o} {o}.times; cat {j} >{o}; touch -r {o}.times {o}', 'cat {o} >{p}', ('o', '', 'j'), ('p', 'o', ''))


@alone
def outside_made_and_removed(m):
    behind_its_back(m, 'rm {o}; cat {j} >{o}', 'cat {o} >{p}', ('o', '', 'j'), ('p', 'o', ''))
