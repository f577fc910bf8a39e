package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/modelpatch/modelpatch"
	"github.com/modelpatch/modelpatch/patch"
	"github.com/modelpatch/modelpatch/position"
)

// execute runs the command line and returns the exit code.
func execute(ctx context.Context, args []string, c *console) int {
	code := runCommand(ctx, args, c)
	if c.out.err != nil {
		return c.lost(code)
	}
	return code
}

// runCommand is execute without a look at standard output. Every error that no
// command has printed itself is printed here.
func runCommand(ctx context.Context, args []string, c *console) int {
	root := newRoot(c, verbOf(args))
	root.SetArgs(args)
	root.SetContext(ctx)
	root.SetOut(c.out)
	root.SetErr(c.err)
	cmd, err := root.ExecuteContextC(ctx)
	var coded *codedError
	switch {
	case err == nil:
		return modelpatch.ExitDone
	case errors.As(err, &coded): // printed already
		return coded.code
	}
	if modelpatch.ExitCode(err) == modelpatch.ExitInput && isFlagError(err) {
		err = usage(cmd, err)
	}
	c.fail("", err, slices.Contains(args, "--json"))
	return modelpatch.ExitCode(err)
}

// usage turns cobra's complaint about a command into ours: one line, and its
// suggestion, or how the command is used, as the hint.
func usage(cmd *cobra.Command, err error) error {
	what, suggested, ok := strings.Cut(err.Error(), "Did you mean this?")
	hint := cmd.CommandPath() + " --help"
	switch {
	case strings.Contains(what, "arg(s)"):
		hint = strings.TrimSuffix(cmd.UseLine(), " [flags]")
	case strings.HasPrefix(what, "unknown flag: --"):
		hint = nearestFlag(cmd, strings.TrimPrefix(what, "unknown flag: --"))
	case ok:
		hint = "did you mean " + strings.Join(strings.Fields(suggested), " or ") + "?"
	}
	what = strings.ReplaceAll(strings.TrimSpace(what), "strconv.ParseInt: parsing ", "not a whole number: ")
	what = strings.ReplaceAll(what, "strconv.ParseFloat: parsing ", "not a number: ")
	return &position.UsageError{What: strings.TrimSuffix(what, ": invalid syntax"), Hint: hint}
}

// isFlagError tells cobra's own complaints about the command line, which have
// no type.
func isFlagError(err error) bool {
	text := err.Error()
	for _, start := range []string{"unknown flag", "unknown shorthand", "unknown command", "invalid argument", "flag needs an argument",
		"accepts ", "requires ", "required flag", "if any flags", "bad flag"} {
		if strings.HasPrefix(text, start) {
			return true
		}
	}
	return false
}

// A verb is a command of modelpatch, by how it is made.
type verb struct {
	name, group   string
	make          func(*console) *cobra.Command
	interruptible bool
}

// verbs are in the order of the help.
var verbs = []verb{
	{"inspect", groupLook, newInspect, false},
	{"plot", groupLook, newPlot, false},
	{"diff", groupLook, newDiff, true},
	{"verify", groupLook, newVerify, true},
	{"extend", groupChange, newExtend, true},
	{"rope", groupChange, newRope, true},
	{"set", groupChange, newSet, true},
	{"alibi", groupChange, newALiBi, true},
	{"window", groupChange, newWindow, true},
	{"relative", groupChange, newRelative, true},
	{"bake", groupChange, newBake, true},
	{"unbake", groupChange, newUnbake, true},
	{"undo", groupChange, newUndo, true},
	{"recover", groupChange, newRecover, false},
	{"show", groupPatches, newShow, false},
	{"apply", groupPatches, newApply, true},
	{"revert", groupPatches, newRevert, true},
	{"check", groupGate, newCheck, false},
	{"explain", groupGate, newExplain, false},
	{"schema", groupGate, newSchema, false},
	{"version", groupOther, newVersion, false},
}

// verbOf is the verb that a command line begins with, "" where it begins with none: then every verb is needed, for help,
// completion and suggestions. Making them all is a fifth of the start of the process.
func verbOf(args []string) string {
	if slices.Equal(args, []string{"--version"}) {
		return "version"
	}
	if len(args) > 0 && slices.ContainsFunc(verbs, func(v verb) bool { return v.name == args[0] }) {
		return args[0]
	}
	return ""
}

// newRoot is the root with its verbs, or with the one verb only.
func newRoot(c *console, only string) *cobra.Command {
	root := &cobra.Command{
		Use:   "modelpatch",
		Short: "Read and change the position encodings of ONNX and GGUF models",
		Long: `modelpatch reports which position encoding an ONNX or GGUF model uses (position
table, sinusoids, RoPE, ALiBi, relative biases), extends its context length or
rewrites the encoding, and leaves every other byte of the file as it was.`,
		Example: `  modelpatch inspect model.gguf
  modelpatch extend --len 8192 model.onnx -o longer.onnx
  modelpatch rope --scaling yarn --factor 4 model.gguf -o model-4x.gguf`,
		Version:       version(),
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	helpful(root, c)
	cobra.EnableCommandSorting = false
	for _, v := range verbs {
		if only != "" && v.name != only {
			continue
		}
		cmd := v.make(c)
		cmd.GroupID = v.group
		if v.interruptible {
			interruptible(cmd)
		}
		root.AddCommand(cmd)
	}
	root.AddCommand(newExitCodes())
	strictHelp(root)
	return root
}

// heeding is how long a command may take to heed a signal by itself.
const heeding = 700 * time.Millisecond

// interruptible makes the first signal end a command's context, so that it
// takes back what it has begun and says so; a second one ends what does not
// heed the first. A command that is still reading, which may take minutes in a
// hostile file, is left behind. inspect only reads, and recover may be cut short
// at any time: a signal ends them at once.
func interruptible(cmd *cobra.Command) *cobra.Command {
	work := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		context.AfterFunc(ctx, stop)
		cmd.SetContext(ctx)
		ended := make(chan error, 1)
		go func() { ended <- work(cmd, args) }()
		select {
		case err := <-ended:
			return err
		case <-ctx.Done():
		}
		select {
		case err := <-ended:
			return err
		case <-time.After(heeding):
			if patch.Changing() {
				return <-ended
			}
			return ctx.Err()
		}
	}
	return cmd
}
