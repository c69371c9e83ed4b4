/* C++: what the library does by the program's own functions, and what a stream keeps. */
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>
#include <streambuf>
#include <string>
static int total, told;
class counter : public std::streambuf {
protected:
	int overflow(int c) override
	{
		total += c;
		return c;
	}
};
static void callback(std::ios_base::event, std::ios_base &, int n)
{
	told = n;
}
class value {
public:
	int n;
};
static std::ostream &operator<<(std::ostream &s, const value &v)
{
	return s << v.n;
}
int main(int, char **argv)
{
	counter c;
	std::ostream os(&c);
	/* -- */
	os << argv[1];
	std::printf("%d\n", total); /* OUT overflow */
	/* -- */
	std::ostringstream keep;
	std::streambuf *old = std::cout.rdbuf(keep.rdbuf());
	std::cout << argv[2];
	std::cout.rdbuf(old);
	std::printf("%s\n", keep.str().c_str()); /* OUT redirected */
	/* -- */
	int slot = std::ios_base::xalloc();
	os.iword(slot) = std::atoi(argv[3]);
	std::printf("%ld\n", os.iword(slot)); /* OUT word */
	std::ostringstream fmt;
	fmt.width(std::atoi(argv[4]));
	fmt << 1;
	std::printf("%s\n", fmt.str().c_str()); /* OUT width */
	/* -- */
	os.register_callback(callback, std::atoi(argv[5]));
	os.copyfmt(std::cout);
	std::printf("%d\n", told); /* OUT told */
	/* -- */
	std::istringstream in(argv[6]);
	int number = 0;
	in >> number;
	std::printf("%d\n", in.fail()); /* OUT failed */
	/* -- */
	{
		std::ofstream f("stream.txt");
		f << value{std::atoi(argv[7])};
	}
	std::ifstream g("stream.txt");
	std::string line;
	std::getline(g, line);
	std::cout << line << '\n'; /* OUT file */
	return 0;
}
