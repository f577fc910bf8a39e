package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// Of a released build, set by packaging/build.py through the linker; with -buildvcs=false nothing else
// would tell them.
var (
	release string // the version
	commit  string // the commit that it was built from
)

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
	if id := revision(info); id != "" && (info.Main.Version == "" || info.Main.Version == "(devel)") {
		return "(devel) " + id[:min(len(id), 12)]
	}
	return info.Main.Version
}

// revision is the commit that Go notes of a source tree; "" where it notes none.
func revision(info *debug.BuildInfo) string {
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value
		}
	}
	return ""
}

func newVersion(c *console) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version, and the commit that it was built from",
		Long:    `version prints the version, the commit, and the Go release and the platform of the build.`,
		Example: `  modelpatch version`,
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			from := commit
			if info, ok := debug.ReadBuildInfo(); ok && from == "" {
				from = revision(info)
			}
			if from == "" {
				from = "not known"
			}
			_, err := fmt.Fprintf(c.out, "modelpatch %s, commit %s, %s %s/%s\n", version(), from, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}
