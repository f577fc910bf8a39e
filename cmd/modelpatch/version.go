package main

import "runtime/debug"

// release is the version of a released build, set by packaging/build.py
// through the linker; with -buildvcs=false nothing else would tell it.
var release string

// version is that of the release, of the module, or of the source tree it was
// built from.
func version() string {
	if release != "" {
		return release
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "(unknown)"
	}
	out := info.Main.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && (out == "" || out == "(devel)") {
			out = "(devel) " + s.Value[:min(len(s.Value), 12)]
		}
	}
	return out
}
