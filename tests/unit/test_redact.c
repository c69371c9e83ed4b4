/* What is a secret in a command line and what is none. The rows were written from what programs take, not from the
 * table of patterns; the values are made up. */
#include "redact/redact.h"
#include "redact/token.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define ARGS 10

/* A command line; `gone` must not be in what comes out of it, `stays` must. */
struct row {
	const char *argv[ARGS];
	const char *gone, *stays;
};

static void redact_line(const char *const *argv, struct buf *out)
{
	struct redact r = {0};
	buf_reset(out);
	for (size_t i = 0; i < ARGS && argv[i]; i++) {
		redact_arg(&r, out, str_of(argv[i]));
		buf_char(out, '\n');
	}
	buf_cstr(out);
}

static const struct row secrets[] = {
    /* options and names */
    {{"prog", "--password", "hunter2xyz"}, "hunter2xyz", "--password"},
    {{"prog", "--password=hunter2xyz"}, "hunter2xyz", "--password="},
    {{"prog", "--db-password=two words here"}, "words", "--db-password="},
    {{"prog", "--dbPassword", "-x", "--dbPassword", "hunter2xyz"}, "hunter2xyz", "-x"},
    {{"wget", "--password=a&b;c,d|e"}, "&b", "--password="},
    {{"prog", "--api-key", "0123456789"}, "0123456789", "--api-key"},
    {{"prog", "--apikey=0123456789"}, "0123456789", "--apikey="},
    {{"prog", "-token", "abcdef"}, "abcdef", "-token"},
    {{"prog", "--client_secret=abc-def"}, "abc-def", "client_secret"},
    {{"prog", "DB_PASSWORD=hunter2xyz", "out.csv"}, "hunter2xyz", "out.csv"},
    {{"prog", "PASSWORD=line one\nline two\nline three"}, "line", "PASSWORD="},
    {{"env", "SECRET_KEY=kkkkkkkk", "prog"}, "kkkkkkkk", "prog"},
    {{"prog", "--passphrase", "correct horse battery"}, "horse", "--passphrase"},
    {{"prog", "-opassword=hunter2xyz,uid=5"}, "hunter2xyz", "-opassword="},
    {{"mount", "-o", "username=ann,password=hunter2xyz,uid=5"}, "hunter2xyz", "uid=5"},
    {{"prog", "Server=db;Password=hunter2xyz;User=ann"}, "hunter2xyz", "User=ann"},
    {{"prog", "host=db password=hunter2xyz user=ann"}, "hunter2xyz", "user=ann"},
    {{"cc", "-DAPI_KEY=0123456789", "-c", "x.c"}, "0123456789", "x.c"},
    {{"aws", "configure", "set", "aws_secret_access_key", "wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY0"},
     "wJalr",
     "aws_secret"},
    {{"prog", "--key=0123456789abcdef0123456789abcdef"}, "0123456789abcdef", "--key="},
    /* programs */
    {{"mysql", "-uann", "-phunter2xyz", "base"}, "hunter2xyz", "base"},
    {{"sudo", "/usr/bin/mysqldump", "-phunter2xyz"}, "hunter2xyz", "mysqldump"},
    {{"sshpass", "-p", "hunter2xyz", "ssh", "host"}, "hunter2xyz", "host"},
    {{"curl", "-u", "ann:hunter2xyz", "https://example.org/"}, "hunter2xyz", "ann:"},
    {{"curl", "--user", "ann:hunter2xyz", "https://example.org/"}, "hunter2xyz", "example.org"},
    {{"curl", "-sSu", "ann:hunter2xyz", "https://example.org/"}, "hunter2xyz", "ann:"},
    {{"curl", "-b", "session=0123456789", "https://example.org/"}, "0123456789", "session="},
    {{"curl", "--cookie", "session=0123456789", "https://example.org/"}, "0123456789", "session="},
    {{"unzip", "-oP", "hunter2xyz", "x.zip"}, "hunter2xyz", "x.zip"},
    {{"kubectl", "create", "secret", "generic", "x", "--from-literal=user=hunter2xyz"},
     "hunter2xyz",
     "--from-literal="},
    {{"kubectl", "create", "secret", "generic", "x", "--from-literal", "user=hunter2xyz"}, "hunter2xyz", "user="},
    {{"prog", "--pwd", "hunter2xyz"}, "hunter2xyz", "--pwd"},
    {{"prog", "DSN=x;UID=sa;PWD=hunter2xyz;Encrypt=yes"}, "hunter2xyz", "Encrypt=yes"},
    /* what is written in other languages */
    {{"curl", "-d", "{\"user\": \"ann\", \"password\" : \"hunter2xyz\"}"}, "hunter2xyz", "ann"},
    {{"python3", "-c", "password = \"hunter2xyz\"\nprint(1)"}, "hunter2xyz", "print"},
    {{"python3", "-c", "password = 'hunter2xyz two words'\nprint(1)"}, "hunter2xyz", "print"},
    {{"python3", "-c", "cfg['db']['password'] = 'hunter2xyz'\nprint(1)"}, "hunter2xyz", "print"},
    {{"python3", "-c", "os.environ['API_KEY']='hunter2xyz'\nprint(1)"}, "hunter2xyz", "print"},
    {{"prog", "[db]\nuser = ann\npassword = hunter2xyz\nport = 5432"}, "hunter2xyz", "port = 5432"},
    /* given to a function by its place */
    {{"perl", "-e",
      "use DBI; my $d = DBI->connect(\"dbi:mysql:lab;host=db\", \"ann\", \"hunter2xyz\") or die; work($d)"},
     "hunter2xyz",
     "work($d)"},
    {{"perl", "-MDBI", "-e", "DBI->connect('dbi:Pg:dbname=x', 'ann', 'hun\\'ter2xyz', {RaiseError => 1})"},
     "ter2xyz",
     "RaiseError => 1"},
    {{"perl", "-e", "DBI->connect($dsn,$user,'two words',{});print 1"}, "words", "print 1"},
    {{"perl", "-e", "$d=DBI->connect(dsn(1, 'x'), \"ann\",\n  \"hunter2xyz\");"}, "hunter2xyz", "dsn(1, 'x'), \"ann\""},
    {{"sh", "-c", "perl -e 'DBI->connect(\"dbi:Pg:x\",\"ann\",\"hunter2xyz\")' >out"}, "hunter2xyz", ">out"},
    {{"sh", "-c", "perl -e \"DBI->connect(\\\"dbi:Pg:x\\\", \\\"ann\\\", \\\"hunter2xyz\\\")\" >out"},
     "hunter2xyz",
     ">out"},
    {{"php", "-r", "$d = new PDO('mysql:host=db', 'ann', 'hunter2xyz'); go($d);"}, "hunter2xyz", "go($d)"},
    {{"python3", "-c", "s.login('ann@example.org', 'hunter2xyz'); s.send()"}, "hunter2xyz", "s.send()"},
    {{"python3", "-c", "requests.get(u, auth=('ann', 'hunter2xyz'), timeout=5)"}, "hunter2xyz", "timeout=5"},
    {{"rclone", "--password-command", "prog --password hunter2xyz x"}, "hunter2xyz", "x"},
    {{"redis-cli", "-a", "hunter2xyz", "ping"}, "hunter2xyz", "ping"},
    {{"smbclient", "//h/s", "-U", "ann%hunter2xyz"}, "hunter2xyz", "ann%"},
    {{"openssl", "enc", "-pass", "pass:hunter2xyz"}, "hunter2xyz", "pass:"},
    {{"docker", "login", "-u", "ann", "-p", "hunter2xyz"}, "hunter2xyz", "ann"},
    {{"7z", "a", "-phunter2xyz", "x.7z"}, "hunter2xyz", "x.7z"},
    /* headers */
    {{"curl", "-H", "Authorization: Bearer abcdefgh12345678"}, "abcdefgh", "Authorization: "},
    {{"curl", "-H", "authorization: Basic YW5uOmh1bnRlcjI="}, "YW5u", "authorization: "},
    {{"curl", "-H", "X-Api-Key: 0123456789"}, "0123456789", "X-Api-Key: "},
    {{"curl", "-H", "Cookie: session=0123456789"}, "0123456789", "Cookie: "},
    {{"curl", "-d", "{\"user\":\"ann\",\"password\":\"hunter2xyz\",\"n\":1}"}, "hunter2xyz", "\"n\":1"},
    {{"curl", "-d", "{\"user\": \"ann\", \"password\": \"hunter2xyz\", \"n\": 1}"}, "hunter2xyz", "ann"},
    {{"prog", "Bearer", "abcdefgh12345678"}, "abcdefgh", "Bearer"},
    /* addresses */
    {{"git", "clone", "https://ann:hunter2xyz@example.org/x.git"}, "hunter2xyz", "https://ann:***@example.org/x.git"},
    {{"psql", "postgres://ann:hun/ter2xyz@db:5432/base"}, "ter2xyz", "@db:5432/base"},
    {{"psql", "postgres://ann:hun@ter2xyz@db/base"}, "ter2xyz", "@db/base"},
    {{"redis-cli", "redis://:hunter2xyz@db"}, "hunter2xyz", "@db"},
    {{"git", "clone", "https://0123456789abcdef0123456789abcdef@example.org/x"}, "0123456789abcdef", "@example.org/x"},
    {{"curl", "https://example.org/x?sv=2020&sig=Ab12cdEfGh34IjKl%2Bmn56%3D&se=2030"}, "Ab12cdEf", "&se=2030"},
    {{"curl", "https://example.org/x?access_token=abcdefgh&page=2"}, "abcdefgh", "page=2"},
    {{"curl", "https://s3/x?X-Amz-Signature=0123456789abcdef0123456789abcdef&X-Amz-Date=2026"},
     "0123456789abcdef",
     "X-Amz-Date=2026"},
    /* tokens wherever they stand; made of pieces, so that no scanner of sources takes them for real */
    {{"prog", "gh"
              "p_0123456789abcdefABCDEF0123456789abcd"},
     "0123456789",
     "prog"},
    {{"prog", "x,gith"
              "ub_pat_11ABCDEFG0123456789_abcdefghijklmnop,y"},
     "ABCDEFG",
     ",y"},
    {{"prog", "gl"
              "pat-abcdefgh12345678ABCD"},
     "abcdefgh",
     "prog"},
    {{"prog", "AK"
              "IAABCDEFGHIJKLMNOP"},
     "ABCDEFGH",
     "prog"},
    {{"prog", "xo"
              "xb-123456789012-abcdefghij"},
     "123456789012",
     "prog"},
    {{"prog", "AI"
              "zaSyA0123456789abcdefghijklmnopqrstu"},
     "0123456789",
     "prog"},
    {{"prog", "sk"
              "-abcdefghij0123456789ABCD"},
     "abcdefghij",
     "prog"},
    {{"prog", "ey"
              "JhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.abc-DEF_123"},
     "zdWIi",
     "prog"},
    {{"prog", "say 'gh"
              "p_0123456789abcdefABCDEF0123456789abcd' twice"},
     "0123456789",
     "twice"},
    /* keys of several lines */
    {{"prog", "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA\nabcdefgh\n-----END RSA PRIVATE KEY-----\n", "x"},
     "MIIEow",
     "x"},
    {{"prog", "key: -----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1r\nabcdefgh"}, "abcdefgh", "key: "},
    {{"sh", "-c",
      "printf '%s' '-----BEGIN EC PRIVATE KEY-----\nMHcCAQEE\n-----END EC PRIVATE KEY-----' | prog --out y"},
     "MHcCAQEE",
     "--out y"},
    /* scripts */
    {{"sh", "-c", "PASSWORD=hunter2xyz ./step --in data.csv"}, "hunter2xyz", "./step --in data.csv"},
    {{"bash", "-lc", "export API_TOKEN='two words'; ./step"}, "words", "./step"},
    {{"sh", "-c", "mysql -phunter2xyz base <x.sql && echo done"}, "hunter2xyz", "echo done"},
    {{"sh", "-c", "curl -u \"ann:hunter2xyz\" -o out https://example.org/"}, "hunter2xyz", "-o out"},
    {{"sh", "-c", "curl -H \"Authorization: Bearer abcdefgh12345678\" -o out https://e.org/"}, "abcdefgh", "-o out"},
    {{"sh", "-c", "don't; prog --password=hunter2xyz; can't"}, "hunter2xyz", "prog"},
    {{"sh", "-c", "sh -c 'prog --token abcdefgh --in x'"}, "abcdefgh", "--in x"},
    {{"sh", "-c", "curl 'https://e.org/x?token=abcdefgh&b=2' -o y"}, "abcdefgh", "-o y"},
    {{"sh", "-c", "PASSWORD=\"line one\nline two\" ./step"}, "two", "./step"},
    {{"prog", "--password", "***", "--token", "abcdefgh"}, "abcdefgh", "--token"},
};

/* Nothing of these may be lost. */
static const char *const plain[][ARGS] = {
    {"cc", "-O2", "-c", "src/token.c", "-o", "build/token.o"},
    {"cc", "-I/usr/include/openssl", "-DTOKEN_MAX=512", "-DMAX_TOKENS=9", "-DNDEBUG", "-DNAME=\"x y\"", "x.c"},
    {"sort", "-k", "2,2n", "--key=3,3", "-o", "d41d8cd98f00b204e9800998ecf8427e", "in"},
    {"git", "checkout", "da39a3ee5e6b4b0d3255bfef95601890afd80709"},
    {"aws", "s3api", "head-object", "--key", "d41d8cd98f00b204e9800998ecf8427e"},
    {"kubectl", "create", "secret", "generic", "db", "--from-file=password=/etc/pw.txt"},
    {"kubectl", "create", "secret", "generic", "db", "--from-file", "password=/etc/pw.txt"},
    {"openssl", "enc", "-d", "-in", "a.enc", "-pass", "file:/home/ann/pw"},
    {"openssl", "rsa", "-passin", "env:KEY_PW", "-in", "a.pem"},
    {"prog", "--species", "fly", "--set", "sample=a1"},
    {"fly", "secrets", "set", "-a", "lab-site"},
    {"ansible-vault", "view", "--vault-id", "lab@prompt", "vars.yml"},
    {"git", "show", "--format=%H", "HEAD~1:src/secrets.def"},
    {"git", "-c", "credential.helper=store", "-c", "user.name=Ann", "fetch", "origin"},
    {"docker", "run", "--user", "1000:1000", "-p", "8080:80",
     "image@sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
    {"python3", "train.py", "--tokenizer", "bert-base", "--max-tokens", "512", "--pad-token", "[PAD]", "--eos-token",
     "</s>"},
    {"prog", "--password-file", "/home/ann/.pw", "--token-file=/run/token", "--credentials", "/home/ann/key.json"},
    {"prog", "--no-password", "host", "--password-stdin", "registry.example.org"},
    {"ssh", "-i", "/home/ann/.ssh/id_ed25519", "ann@host:22", "ls"},
    {"scp", "ann@host:/data/x.csv", "host2:/data/password.txt", "."},
    {"ffmpeg", "-i", "in.mp4", "-pass", "1", "-passlogfile", "log", "out.mp4"},
    {"rclone", "copy", "secret:bucket/x", "token:/y"},
    {"prog", "/data/token=abc/part-0.parquet", "s3://bucket/key=value/x", "https://example.org:8080/a@b/c:d"},
    {"curl", "-sSfo", "out:put", "-b", "cookies.txt", "https://example.org/"},
    {"kubectl", "get", "secret", "x", "-o", "name=y"},
    {"apptainer", "exec", "--pwd", "/data/run1", "x.sif"},
    {"python3", "-c", "d['sample'] = 'x'; key = 'name'"},
    {"sh", "-c", "[ \"$PASSWORD\" = \"$OTHER\" ] || [ ${PASSWORD} = x ]"},
    {"curl", "-o", "out", "https://example.org/x?page=2&sort=name#top", "http://[::1]:80/"},
    {"awk", "-F:", "{print $1\":\"$2}", "/etc/passwd"},
    {"sed", "-e", "s/a:b/c=d/", "-e", "/^#/d", "x"},
    {"sh", "-c", "for i in 1 2 3; do echo \"$i: it's\" >out.$i; done && cat out.* | sort -u"},
    {"sh", "-c", "curl --password \"$PASSWORD\" --token $TOKEN -o x"},
    {"make", "-j4", "CC=gcc -std=c11", "CFLAGS=-O2 -g", "V=1"},
    {"bwa", "mem", "-R", "@RG\\tID:1\\tSM:NA12878\\tPL:ILLUMINA", "ref.fa", "r1.fq"},
    {"samtools", "view", "chr1:1000-2000", "x.bam"},
    {"prog", "sk-learn-2024-01-01-results-v2-final.csv", "hf_models/bert", "npm_packages.json", "AKIA.txt", "eyJ.txt"},
    {"prog", "--cache-key=da39a3ee5e6b4b0d3255bfef95601890afd80709", "--sort-key", "name",
     "--seed=123456789012345678901234567890"},
    {"prog", "--sha256=e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "--secretome", "prot.fa",
     "--token-embedding=abcdef", "--secret-name", "x"},
    {"prog", "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----"},
    {"ls", "-l", "--author", "-u", "a:b"},
    {"prog", "", "-", "--", "=", ":", "'", "\"", "a='b"},
    {"prog", "it's", "5 o'clock; \"quoted\" (x) & y < z > w", "\\", "tab\there"},
    {"prog", "01ARZ3NDEKTSV4RRFFQ69G5FAV", "x1a2b3c4d5e6f7a8b9c0d1e2f", "550e8400-e29b-41d4-a716-446655440000"},
    {"mysql", "--port=3306", "-h", "db", "-u", "ann", "-p", "base"},
    {"keytool", "-list", "-keystore", "x.jks", "-alias", "secret-name"},
    {"perl", "-e", "DBI->connect($dsn, $user, $pass); DBI->connect(\"dbi:SQLite:x\", \"\", \"\"); x('a', 'b', 'c')"},
    {"perl", "-e", "DBI->connect(\"dbi:mysql:x\", \"ann\", \"$ENV{PW}\"); reconnect('a', 'b', 'c')"},
    {"python3", "-c",
     "socket.connect(('h', 80)); b.connect('clicked', 'f', 'g'); s.login(a, b); notmysqli('a', 'b', 'c')"},
    {"python3", "-c", "sqlite3.connect('x.db'); s.login('ann'); f(x, auth=(u, p)); DBI.connect('"},
    {"helm", "install", "x", "--set", "auth.existingSecret=db-creds", "--set", "image.pullSecrets=hub,replicas=2"},
    {"kubectl", "create", "--secret-ref", "db-creds", "--from=secret/x"},
    {"rclone", "--password-command", "pass show rclone/config", "sync", "a", "b"},
    {"rclone", "--password-command", "pass rclone", "lsd", "lab:"},
    {"sh", "-c", "rclone --password-command \"pass show rclone\" sync a b"},
    {"restic", "-r", "x", "--password-command", "vault kv get -field=password secret/restic", "backup"},
    {"expect", "-c", "spawn ssh h; expect \"$ \"; send \"ls -l\\r\"; expect eof"},
    {"expect", "-c",
     "spawn ssh h; expect \"yes/no\" { send \"yes\\r\" }; expect \"assword:\" { send \"$env(PW)\\r\" }; "
     "expect \"# \" { send \"reboot\\r\" }"},
    {"expect", "-c", "spawn ./install; expect \"path\" { send \"/opt/x86_64/y2k\\r\" }; send \"import os2\\r\""},
    {"expect", "-c",
     "expect login: { send \"ann\\r\" }; expect {*assword*} interact; send \"python3\\r\"; send \"base64\\r\""},
    {"expect", "-c", "set timeout 20; set prompt \"again\"; set passes 3; send_user \"Password\"; send \"quit\\r\""},
    {"sh", "-c", "expect login.exp; tmux send \"make\"; ssh -o x=y h"},
    {"prog", "send", "hunter2xyz", "-m", "send \"hunter3expect\\r\""},
    {"prog", "--passes=2", "--first-pass=yes", "--bypass", "x", "--compass", "north"},
};

static void secrets_go(void **state)
{
	(void)state;
	struct buf out = {0};
	for (size_t i = 0; i < sizeof(secrets) / sizeof(secrets[0]); i++) {
		redact_line(secrets[i].argv, &out);
		if (strstr(out.p, secrets[i].gone))
			fail_msg("row %zu: '%s' is still there in:\n%s", i, secrets[i].gone, out.p);
		if (!strstr(out.p, secrets[i].stays))
			fail_msg("row %zu: '%s' is gone from:\n%s", i, secrets[i].stays, out.p);
		if (!strstr(out.p, "***"))
			fail_msg("row %zu: nothing says that there was something:\n%s", i, out.p);
	}
	buf_release(&out);
}

static void others_stay(void **state)
{
	(void)state;
	struct buf out = {0}, want = {0};
	for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++) {
		redact_line(plain[i], &out);
		buf_reset(&want);
		for (size_t k = 0; k < ARGS && plain[i][k]; k++)
			buf_printf(&want, "%s\n", plain[i][k]);
		if (!str_eq(buf_view(&out), buf_view(&want)))
			fail_msg("row %zu became:\n%s", i, out.p);
	}
	buf_release(&out);
	buf_release(&want);
}

static void variables(void **state)
{
	(void)state;
	static const char *const rows[][2] = {
	    {"APPTAINER_DOCKER_PASSWORD=hunter2", "APPTAINER_DOCKER_PASSWORD=***"},
	    {"SLURM_JWT=Ab12cdEfGh34IjKlMn56", "SLURM_JWT=***"},
	    {"CONDA_TOKEN=a b\nc", "CONDA_TOKEN=***"},
	    {"A_B_C_D_E_F_G_H_I_J_K_L_M_N_O_P_Q_PASSWORD=hunter2", "A_B_C_D_E_F_G_H_I_J_K_L_M_N_O_P_Q_PASSWORD=***"},
	    {"aBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBPassword=hunter2",
	     "aBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBPassword=***"},
	    {"CFLAGS=-O2 -DAPI_KEY=0123456789 -g", "CFLAGS=-O2 -DAPI_KEY=*** -g"},
	    {"STEMMA_X=https://ann:hunter2@h/x", "STEMMA_X=https://ann:***@h/x"},
	    {"PATH=/usr/bin:/bin:/opt/token/bin", "PATH=/usr/bin:/bin:/opt/token/bin"},
	    {"SLURM_JOB_ID=123456", "SLURM_JOB_ID=123456"},
	    {"PWD=/home/ann/secret", "PWD=/home/ann/secret"},
	    {"LANG=C.UTF-8", "LANG=C.UTF-8"},
	    {"OMP_NUM_THREADS=4", "OMP_NUM_THREADS=4"},
	    {"EMPTY=", "EMPTY="},
	    {"NOVALUE", "NOVALUE"},
	    {"PASSWORD=", "PASSWORD="},
	};
	struct buf out = {0};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		buf_reset(&out);
		redact_env(&out, str_of(rows[i][0]));
		assert_string_equal(buf_cstr(&out), rows[i][1]);
	}
	buf_release(&out);
}

/* What names data: drawn by seed, in every place where an option, a name of a file or an address has it. */

static unsigned long long lot_state = 20261123;

static unsigned lot(unsigned n)
{
	lot_state = lot_state * 6364136223846793005ull + 1442695040888963407ull;
	return (unsigned)(lot_state >> 33) % n;
}

static void draw(struct buf *b, const char *letters, size_t n)
{
	size_t k = strlen(letters);
	while (n--)
		buf_char(b, letters[lot((unsigned)k)]);
}

#define DIGITS "0123456789"
#define HEX DIGITS "abcdef"
#define SMALL "abcdefghijklmnopqrstuvwxyz"
#define LARGE "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

static void draw_base64(struct buf *b, size_t bytes)
{
	size_t n = (bytes * 4 + 2) / 3;
	draw(b, LARGE SMALL DIGITS "+/", n);
	while (n++ % 4)
		buf_char(b, '=');
}

static void draw_identifier(struct buf *b, unsigned kind)
{
	static const unsigned digests[] = {8, 16, 32, 40, 48, 56, 64, 96, 128};
	static const char *const accessions[] = {"SRR",  "ERR",  "DRR",  "GSE",    "GSM",     "SRX",       "PRJNA",
	                                         "SAMN", "GCF_", "ENSG", "ENST",   "ENSMUSG", "NM_",       "XP_",
	                                         "rs",   "EGAF", "PXD",  "CHEBI:", "GO:",     "UniRef90_P"};
	static const char *const words[] = {"cat", "ordinary", "sample", "GATK4", "run", "Homo", "yes", "true42"};
	switch (kind) {
	case 0: /* a commit, whole and short */
		draw(b, HEX, lot(2) ? 40 : 7 + lot(8));
		break;
	case 1: /* digests of all usual sizes, and in capitals */
		draw(b, lot(8) ? HEX : DIGITS "ABCDEF", digests[lot(sizeof(digests) / sizeof(*digests))]);
		break;
	case 2:
	case 3: /* UUIDs */
		draw(b, HEX, 8);
		for (unsigned i = 0; i < 3; i++) {
			buf_char(b, '-');
			draw(b, HEX, 4);
		}
		buf_char(b, '-');
		draw(b, HEX, 12);
		break;
	case 4: /* accession numbers */
		buf_printf(b, "%s", accessions[lot(sizeof(accessions) / sizeof(*accessions))]);
		draw(b, DIGITS, 5 + lot(7));
		if (!lot(3))
			buf_printf(b, ".%u", 1 + lot(20));
		break;
	case 5: /* images */
		buf_printf(b, "quay.io/biocontainers/bwa@sha256:");
		draw(b, HEX, 64);
		break;
	case 6: /* Nextflow's work folders */
		draw(b, HEX, 2);
		buf_char(b, '/');
		draw(b, HEX, lot(2) ? 30 : 6);
		break;
	case 7: /* conda's builds */
		buf_printf(b, "py3%uh", 7 + lot(6));
		draw(b, HEX, 7);
		buf_printf(b, "_%u", lot(10));
		break;
	case 8: /* barcodes, sequences */
		draw(b, "ACGT", 6 + lot(60));
		break;
	case 9: /* dual barcodes, sequences with quality N */
		draw(b, "ACGTN", 8);
		buf_char(b, '+');
		draw(b, "ACGT", 8);
		break;
	case 10: { /* base64 of short words */
		static const char set[] = LARGE SMALL DIGITS "+/";
		const unsigned char *w = (const unsigned char *)words[lot(sizeof(words) / sizeof(*words))];
		size_t n = strlen((const char *)w);
		for (size_t i = 0; i < n; i += 3) {
			unsigned v = (unsigned)w[i] << 16 | (i + 1 < n ? (unsigned)w[i + 1] << 8 : 0) | (i + 2 < n ? w[i + 2] : 0);
			buf_char(b, set[v >> 18]);
			buf_char(b, set[v >> 12 & 63]);
			buf_char(b, i + 1 < n ? set[v >> 6 & 63] : '=');
			buf_char(b, i + 2 < n ? set[v & 63] : '=');
		}
		break;
	}
	case 11: /* temporary names */
		buf_printf(b, lot(2) ? "tmp." : "/tmp/tmp");
		draw(b, LARGE SMALL DIGITS, lot(2) ? 10 : 6);
		break;
	case 12: /* numbers */
		draw(b, DIGITS, 1 + lot(24));
		break;
	case 13: /* digests in base64, bare and as package managers have them */
		buf_printf(b, lot(2) ? "" : "sha512-");
		draw_base64(b, b->n ? 64 : (unsigned[]){16, 20, 32, 64}[lot(4)]);
		break;
	case 14: /* ULIDs, Nix's store */
		draw(b, lot(2) ? DIGITS "ABCDEFGHJKMNPQRSTVWXYZ" : DIGITS "abcdfghijklmnpqrsvwxyz", lot(2) ? 26 : 32);
		break;
	case 15: /* sequencers' runs */
		draw(b, DIGITS, 6);
		buf_printf(b, "_%c%05u_%04u_%cH", 'A' + (char)lot(26), lot(100000), lot(10000), lot(2) ? 'A' : 'B');
		draw(b, LARGE DIGITS, 8);
		break;
	case 16: /* names of C++ functions */
		buf_printf(b, "_ZN5boost10filesystem6detail%uread_symlinkERKNS0_4pathEPNS_6system10error_codeE", 10 + lot(20));
		break;
	case 17: /* times */
		buf_printf(b, "2026%02u%02uT%02u%02u%02uZ", 1 + lot(12), 1 + lot(28), lot(24), lot(60), lot(60));
		break;
	case 18: /* classes of Java, names of many words */
		buf_printf(b, "MyVeryLongTestClassName%uNumberFour%uAndMore", lot(100), lot(10));
		break;
	default: /* slices, versions */
		buf_printf(b, "chr%u:%u-%u", 1 + lot(22), lot(100000000), lot(100000000));
		break;
	}
}

static void identifiers_stay(void **state)
{
	(void)state;
	struct buf id = {0}, arg = {0}, out = {0};
	unsigned lost = 0;
	for (unsigned i = 0; i < 2000; i++) {
		static const char *const forms[] = {"%s",
		                                    "--from=%s",
		                                    "-x%s",
		                                    "sample=%s",
		                                    "/data/%s/out.bam",
		                                    "results-%s.csv",
		                                    "https://example.org/x/%s",
		                                    "s3://bucket/%s.gz",
		                                    "--out=dir/%s",
		                                    "a,%s,b"};
		buf_reset(&id);
		draw_identifier(&id, i % 20);
		for (unsigned f = 0; f < sizeof(forms) / sizeof(*forms); f++) {
			struct redact r = {0};
			bool gone = false;
			buf_reset(&arg);
			const char *mark = strstr(forms[f], "%s");
			buf_add(&arg, forms[f], (size_t)(mark - forms[f]));
			buf_str(&arg, buf_view(&id));
			buf_printf(&arg, "%s", mark + 2);
			buf_reset(&out);
			redact_arg(&r, &out, str_of("prog"));
			redact_arg(&r, &out, str_of("--with"));
			buf_reset(&out);
			redact_arg(&r, &out, buf_view(&arg));
			gone = !str_eq(buf_view(&out), buf_view(&arg));
			buf_reset(&out);
			redact_path(&out, buf_view(&arg));
			gone |= !str_eq(buf_view(&out), buf_view(&arg));
			if (gone)
				printf("lost: %s\n", buf_cstr(&arg));
			lost += gone;
		}
	}
	assert_int_equal(lost, 0);
	buf_release(&id);
	buf_release(&arg);
	buf_release(&out);
}

/* Each row stands where it is looked for. */
static void rows_are_found(void **state)
{
	(void)state;
	size_t lost;
	assert_true(token_rows(&lost) > 300);
	assert_int_equal(lost, 0);
}

static void names_of_files(void **state)
{
	(void)state;
	static const char *const rows[][2] = {
	    {"/data/a.csv", "/data/a.csv"},
	    {"/data/key=value/token=abc/part-0.parquet", "/data/key=value/token=abc/part-0.parquet"},
	    {"/data/password=hunter2/x.csv", "/data/password=***/x.csv"},
	    {"/w/out?password=hunter2&page=2", "/w/out?password=***&page=2"},
	    {"/w/https://ann:hunter2@h/x", "/w/https://ann:***@h/x"},
	    {"/w/e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855.json",
	     "/w/e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855.json"},
	};
	struct buf out = {0}, other = {0}, again = {0};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		buf_reset(&out);
		redact_path(&out, str_of(rows[i][0]));
		assert_string_equal(buf_cstr(&out), rows[i][1]);
	}
	/* Two names with tokens stay two names; what is redacted again stays. */
	buf_reset(&out);
	redact_path(&out, str_of("/w/gh"
	                         "p_0123456789abcdefABCDEF0123456789abcd.json"));
	redact_path(&other, str_of("/w/gh"
	                           "p_0123456789abcdefABCDEF0123456789abce.json"));
	redact_path(&again, buf_view(&out));
	assert_true(str_starts(buf_view(&out), str_of("/w/***-")) && str_ends(buf_view(&out), str_of(".json")));
	assert_string_not_equal(buf_cstr(&out), buf_cstr(&other));
	assert_string_equal(buf_cstr(&out), buf_cstr(&again));
	buf_release(&out);
	buf_release(&other);
	buf_release(&again);
}

/* Bytes drawn by lot, from those that mean something: it ends, and what has no secret's name in it comes back. */
static void any_bytes(void **state)
{
	(void)state;
	static const char letters[] = "ab1=:\"'\\@/&;- ?{}\n\xc3";
	struct buf out = {0};
	unsigned seed = 1;
	for (int round = 0; round < 200000; round++) {
		char s[40];
		size_t n = 0;
		for (seed = seed * 1103515245u + 12345u; n < (size_t)(seed >> 16) % 32; n++) {
			unsigned k = seed ^ (unsigned)n * 2654435761u;
			k = (k ^ k >> 15) * 2246822519u;
			s[n] = letters[(k >> 8) % (sizeof(letters) - 1)];
		}
		s[n] = '\0';
		buf_reset(&out);
		redact_text(&out, str_n(s, n));
		if (!memmem(s, n, "://", 3) && !str_eq(buf_view(&out), str_n(s, n)))
			fail_msg("'%s' became '%s'", s, buf_cstr(&out));
	}
	buf_release(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(secrets_go),     cmocka_unit_test(others_stay),      cmocka_unit_test(variables),
	    cmocka_unit_test(any_bytes),      cmocka_unit_test(identifiers_stay), cmocka_unit_test(rows_are_found),
	    cmocka_unit_test(names_of_files),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
