// The C++ library: streams and strings.
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>
int main(int argc, char **argv)
{
	(void)argc;
	std::string name = argv[1];
	name += "!";
	std::cout << name << "\n"; // OUT name
	std::ifstream in("in.txt");
	int n = 0;
	in >> n;
	std::cerr << n << "\n"; // OUT n
	return 0;
}
