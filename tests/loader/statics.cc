// A library with an object whose constructor makes the call.
#include "call.h"

#include <unistd.h>

namespace
{
struct begins {
	begins()
	{
		if (call() != 0)
			_exit(9);
	}
} object;
} // namespace
