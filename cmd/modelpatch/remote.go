package main

import (
	"github.com/spf13/cobra"

	"github.com/modelpatch/modelpatch"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/remote/process"
)

// reading makes a command read models by their address too, with the flags that this takes.
func reading(c *console, cmd *cobra.Command, open *modelpatch.OpenOptions) *cobra.Command {
	var o process.Options
	f := cmd.Flags()
	f.BoolVar(&o.Offline, "offline", false, "refuse addresses (https://, hf://, oci://)")
	f.Int64Var(&o.MaxBytes, "max-bytes", 0, "bytes that may be fetched of models at addresses (default 1 GiB)")
	f.BoolVar(&o.AllowPrivate, "allow-private", false, "also read from servers in private networks, and by http://")
	f.BoolVar(&open.Scan, "scan", false, "fetch large tables of models at addresses too, to look for damaged rows")
	f.StringVar(&open.Assume, "assume", "", "take GGUF files of an architecture that is not known for this one (`LIKE`, such as qwen3)")
	group(cmd, flagsHow, "assume")
	group(cmd, flagsRemote, "offline", "max-bytes", "allow-private", "scan")
	work := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if o.MaxBytes < 0 {
			return &position.UsageError{What: "--max-bytes below 0"}
		}
		if f := cmd.Flags(); f.Lookup("in-place") != nil && f.Changed("output") && !(f.Lookup("patch-only") != nil && f.Changed("patch-only")) && !(f.Lookup("to") != nil && f.Changed("to")) && !f.Changed("max-bytes") {
			o.MaxBytes = -1 // a new file was asked for: how much it takes is said, and not bounded
		}
		o.Agent = "modelpatch/" + version()
		startHeap(args)
		p := newProgress(c)
		s := process.New(o, p.fetched)
		open.Remote = s.Reader
		err := work(cmd, args)
		s.Close() // it is ended; what it says then is of no use
		p.end()
		if requests, bytes, pinned := s.Used(); requests > 0 {
			c.say("modelpatch: %s, %s fetched", plural(int(requests), "request"), bytesText(bytes))
			if !pinned {
				c.say("modelpatch: a server tells neither ETag nor Last-Modified: that all ranges are of one version is known by size alone")
			}
		}
		return err
	}
	return cmd
}
