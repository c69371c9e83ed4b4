// p-keep-cxx.cc - threads that are cancelled, and exceptions, must run destructors: the unwinder passes through calls that a
// recorder has stopped.
extern "C" {
#include "truth.h"
}

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <fstream>
#include <future>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

int ready[2];

// Writes its file when it goes.
struct Guard {
	std::string name;
	explicit Guard(std::string n) : name(std::move(n)) {}
	Guard(const Guard &) = delete;
	Guard &operator=(const Guard &) = delete;
	~Guard() { make_file(in_dir(name.c_str())); }
};

void *blocked(void *arg)
{
	Guard outer(std::string("outer.") + static_cast<const char *>(arg));
	std::vector<std::string> held(100, "something to free");
	try {
		Guard inner(std::string("inner.") + static_cast<const char *>(arg));
		put(ready[1], "r");
		if (*static_cast<const char *>(arg) == 'r') {
			int p[2];
			must(pipe(p));
			char b;
			check(read(p[0], &b, 1) < 0);
		} else {
			for (;;) {
				int fd = open(in_dir("in"), O_RDONLY);
				check(fd >= 0);
				close(fd); // is left open where the thread is cancelled before it
			}
		}
	} catch (const std::exception &) {
		_exit(97); // a cancellation is none
	}
	return nullptr;
}

CASE(c_cancel)
{
	must(pipe(ready));
	truth("maybe-read", in_dir("in"));
	const char *kinds[] = {"read", "open"};
	for (const char *kind : kinds) {
		pthread_t t;
		void *result = nullptr;
		check(pthread_create(&t, nullptr, blocked, const_cast<char *>(kind)) == 0);
		get(ready[0]);
		usleep(3000);
		check(pthread_cancel(t) == 0);
		check(pthread_join(t, &result) == 0);
		check(result == PTHREAD_CANCELED);
	}
	for (const char *name : {"outer.read", "inner.read", "outer.open", "inner.open"})
		must(access(in_dir(name), F_OK));
}

CASE(c_exceptions)
{
	std::vector<std::future<long>> results;
	for (int i = 0; i < 8; i++)
		results.push_back(std::async(std::launch::async, [i]() -> long {
			Guard g("guard" + std::to_string(i));
			std::ifstream in(in_dir("in"));
			std::string word;
			in >> word;
			if (i % 2)
				throw std::runtime_error(word + std::to_string(i));
			return static_cast<long>(word.size());
		}));
	truth("read", in_dir("in"));
	std::ofstream out(in_dir("out"));
	truth("create", in_dir("out"));
	truth("write", in_dir("out"));
	for (auto &r : results) {
		try {
			out << r.get() << '\n';
		} catch (const std::runtime_error &e) {
			out << e.what() << '\n';
		}
	}
	out.close();
	check(bool(out));
}

} // namespace

extern const struct tcase cases[] = {{"cancel", c_cancel}, {"exceptions", c_exceptions}, {nullptr, nullptr}};
