// The version of the library, for `#if` and for people.
#pragma once

#define SADAM_VERSION_MAJOR 0
#define SADAM_VERSION_MINOR 1
#define SADAM_VERSION_PATCH 0
#define SADAM_VERSION "0.1.0"
