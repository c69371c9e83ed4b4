/* C++: containers whose links the library changes, strings, exceptions, shared pointers, virtual calls. */
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>
struct shape {
	virtual ~shape() = default;
	virtual int sides() const = 0;
};
struct square : shape {
	int sides() const override { return 4; }
};
struct polygon : shape {
	int n;
	explicit polygon(int k) : n(k) {}
	int sides() const override { return n; }
};
static int ended;
struct guard {
	~guard() { ended++; }
};
static void checked(int n)
{
	guard g;
	if (n > 3)
		throw std::out_of_range(std::to_string(n));
}
int main(int, char **argv)
{
	/* -- */
	std::map<int, std::string> m;
	m[2] = "two";
	m[std::atoi(argv[1])] = "given";
	std::printf("%s\n", m.begin()->second.c_str()); /* OUT map */
	/* -- */
	std::list<int> l = {1, 2};
	l.insert(l.begin(), std::atoi(argv[2]));
	l.reverse();
	std::printf("%d\n", l.back()); /* OUT list */
	/* -- */
	std::unordered_map<std::string, int> u;
	u[argv[3]]++;
	u["x"]++;
	std::printf("%zu\n", u.size()); /* OUT hashed */
	/* -- */
	std::string caught = "none";
	try {
		checked(std::atoi(argv[4]));
	} catch (const std::exception &e) {
		caught = e.what();
	}
	std::printf("%s\n", caught.c_str()); /* OUT caught */
	/* -- */
	std::unique_ptr<shape> s;
	if (std::atoi(argv[5]))
		s = std::make_unique<square>();
	else
		s = std::make_unique<polygon>(5);
	std::printf("%d\n", s->sides()); /* OUT sides */
	/* -- */
	std::vector<std::function<int(int)>> f;
	int base = std::atoi(argv[6]);
	f.push_back([base](int x) { return x + base; });
	std::printf("%d\n", f[0](1)); /* OUT function */
	/* -- */
	std::string text = "abc";
	text.insert(1, argv[7]);
	std::printf("%s\n", text.substr(0, 2).c_str()); /* OUT string */
	/* -- */
	std::exception_ptr p;
	try {
		throw std::atoi(argv[8]);
	} catch (...) {
		p = std::current_exception();
	}
	try {
		std::rethrow_exception(p);
	} catch (int n) {
		std::printf("%d\n", n); /* OUT again */
	}
	return 0;
}
