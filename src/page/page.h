// The page itself: one HTML file, made from web/ and built into the program.
#pragma once

#include <string>
#include <string_view>

namespace sadam::page {

/// web/dist/index.html; "" where it was not built.
std::string_view built_in_page();
/// The same; throws an Error that says what is missing.
std::string_view page_or_refusal();

/// The Content-Security-Policy that the page has in its head: with the hashes of its own script and style.
/// Nothing is allowed where it has none.
std::string policy_of(std::string_view page);

/// The page with its data in it, which are JSON. Throws an Error for a page that has no place for them.
std::string page_with(std::string_view page, std::string_view json);

}  // namespace sadam::page
