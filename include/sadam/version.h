// The version of the library, for `#if` and for people.
#pragma once

// Each part for `#if`, and all of it as text.
#define SADAM_VERSION_MAJOR 0
#define SADAM_VERSION_MINOR 1
#define SADAM_VERSION_PATCH 0
#define SADAM_VERSION "0.1.0"
