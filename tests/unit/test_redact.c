/* What is a secret in a command line and what is none. The rows were written from what programs take, not from the
 * table of patterns; the values are made up. */
#include "redact/redact.h"

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
	    cmocka_unit_test(secrets_go),
	    cmocka_unit_test(others_stay),
	    cmocka_unit_test(variables),
	    cmocka_unit_test(any_bytes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
