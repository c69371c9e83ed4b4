// stemma/app.hpp - stemma/app.h for C++11 and later: names in a namespace, and an activity that ends with its block.
//
//     stemma::config("learning_rate", 0.01);
//     for (int i = 0; i < 10; i++) {
//         stemma::activity epoch("epoch");
//         stemma::metric("accuracy", train(), i);
//     }
//
// Nothing here throws but what std::string does when there is no memory. Numbers are written as the C locale has them, so
// that they are read back to the same value.
#ifndef STEMMA_APP_HPP
#define STEMMA_APP_HPP

#include <cstdint>
#include <cstdio>
#include <string>
#include <type_traits>

#include <stemma/app.h>

namespace stemma
{

constexpr int64_t no_step = STEMMA_APP_NO_STEP;

inline bool present() { return stemma_app_present() != 0; }
// The id of the run; empty: nobody is recording.
inline std::string run()
{
	const char *id = stemma_app_run();
	return id ? id : "";
}

inline void type(const std::string &name)
{
	stemma_app_say(STEMMA_APP_TYPE, name.data(), name.size(), nullptr, 0, nullptr, 0, 0, 0, 0);
}

inline void config(const std::string &name, const std::string &value, const std::string &version = std::string())
{
	stemma_app_say(STEMMA_APP_CONFIG, name.data(), name.size(), value.data(), value.size(), version.data(),
	               version.size(), 0, 0, 0);
}
inline void config(const std::string &name, const char *value, const std::string &version = std::string())
{
	config(name, std::string(value ? value : ""), version);
}
inline void config(const std::string &name, bool value, const std::string &version = std::string())
{
	config(name, std::string(value ? "true" : "false"), version);
}
template <typename T>
typename std::enable_if<std::is_integral<T>::value && !std::is_same<T, bool>::value>::type
config(const std::string &name, T value, const std::string &version = std::string())
{
	if (present())
		config(name, std::to_string(value), version);
}
template <typename T>
typename std::enable_if<std::is_floating_point<T>::value>::type config(const std::string &name, T value,
                                                                       const std::string &version = std::string())
{
	char text[64];
	if (!present())
		return;
	for (int digits = 6; digits <= 17; digits++) {
		double back = 0;
		std::snprintf(text, sizeof(text), "%.*g", digits, static_cast<double>(value));
		for (char *p = text; *p; p++) // of another locale
			if (*p == ',')
				*p = '.';
		if (std::sscanf(text, "%lf", &back) == 1 && static_cast<T>(back) == value)
			break;
	}
	config(name, std::string(text), version);
}

inline void metric(const std::string &name, double value, int64_t step = no_step)
{
	stemma_app_say(STEMMA_APP_METRIC, name.data(), name.size(), nullptr, 0, nullptr, 0, value, step, 0);
}
inline void used(const std::string &name)
{
	stemma_app_say(STEMMA_APP_USED, name.data(), name.size(), nullptr, 0, nullptr, 0, 0, 0, 0);
}
inline void generated(const std::string &name)
{
	stemma_app_say(STEMMA_APP_GENERATED, name.data(), name.size(), nullptr, 0, nullptr, 0, 0, 0, 0);
}
inline void tag(const std::string &name, const std::string &value)
{
	stemma_app_say(STEMMA_APP_TAG, name.data(), name.size(), value.data(), value.size(), nullptr, 0, 0, 0, 0);
}

// From its making to its end, of one thread.
class activity
{
	uint64_t id;

public:
	explicit activity(const std::string &name)
	    : id(stemma_app_say(STEMMA_APP_BEGIN, name.data(), name.size(), nullptr, 0, nullptr, 0, 0, 0, 0))
	{
	}
	activity(const activity &) = delete;
	activity &operator=(const activity &) = delete;
	~activity() { end(); }
	// Before the block ends.
	void end()
	{
		stemma_app_end(id);
		id = 0;
	}
};

} // namespace stemma

#endif
