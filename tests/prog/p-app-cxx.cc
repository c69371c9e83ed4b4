// The list of p-app.c through stemma/app.hpp.
#include <stemma/app.hpp>

#include <iostream>
#include <thread>

int main()
{
	stemma::type("training");
	stemma::config("learning_rate", 0.01, "v2");
	stemma::config("batch size", 32);
	stemma::config("words", "Gr\xc3\xbc\xc3\x9f\x65\n\xe6\x97\xa5\xe6\x9c\xac");
	stemma::config("large", std::string(1 << 20, 'x'));
	stemma::metric("accuracy", 0.5, 1);
	stemma::metric("accuracy", 0.75, 2);
	stemma::metric("accuracy", 0.625, 3);
	stemma::metric("loss", 0.25);
	{
		stemma::activity epoch("epoch");
		stemma::activity batch("batch");
		stemma::used("input.csv");
	}
	stemma::generated("model.bin");
	stemma::tag("purpose", "test");
	std::thread([] {
		stemma::activity worker("worker");
		stemma::metric("threaded", 1, 0);
	}).join();
	std::cout << stemma::present() << " " << (stemma::present() ? stemma::run() : "-") << "\n";
}
