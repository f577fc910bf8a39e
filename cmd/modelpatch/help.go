package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/modelpatch/modelpatch/internal/spelling"
	"github.com/modelpatch/modelpatch/position"
)

// newExitCodes is the topic of help that scripts need.
func newExitCodes() *cobra.Command {
	return &cobra.Command{
		Use:   "exit-codes",
		Short: "What the exit code of a command says",
		Long: `0    done
1    verification failed, files differ, or check found errors
2    a flag or parameter is wrong
3    an input cannot be read: missing, malformed, unsupported
4    refused: this change cannot be made to this model
5    output failed; files are as they were, unless the message says otherwise
130  interrupted; the target is as it was

Of several inputs each is tried, and the greatest of their codes is returned.`,
	}
}

// strictHelp makes a topic that help does not know a mistake of the command line.
func strictHelp(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	for _, help := range root.Commands() {
		if help.Name() != "help" {
			continue
		}
		help.Run = nil
		help.RunE = func(_ *cobra.Command, topic []string) error {
			cmd, _, err := root.Find(topic)
			if err != nil || cmd == root && len(topic) > 0 {
				var known []string
				for _, c := range root.Commands() {
					known = append(known, c.Name())
				}
				return &position.UsageError{What: fmt.Sprintf("no help on %q", text(strings.Join(topic, " "))), Hint: spelling.Words(strings.Join(topic, " "), known)}
			}
			cmd.InitDefaultHelpFlag()
			return cmd.Help()
		}
	}
}

// Groups of commands, in the order in which help lists them.
const (
	groupLook    = "look"
	groupChange  = "change"
	groupPatches = "patches"
	groupGate    = "gate"
	groupOther   = "other"
)

var commandGroups = []*cobra.Group{
	{ID: groupLook, Title: "Look:"}, {ID: groupChange, Title: "Change:"}, {ID: groupPatches, Title: "Patches:"},
	{ID: groupGate, Title: "Gate:"}, {ID: groupOther, Title: "Other commands:"},
}

// Groups of flags, in the order in which help lists them; flags of none come first.
const (
	flagsOwn     = "Flags"
	flagsWhat    = "What"
	flagsHow     = "How"
	flagsWritten = "Where it is written"
	flagsProof   = "Proof"
	flagsRemote  = "Models at addresses"
	flagsReport  = "Output"
)

var flagGroups = []string{flagsOwn, flagsWhat, flagsHow, flagsWritten, flagsProof, flagsRemote, flagsReport}

// Annotations of flags.
const (
	flagGroup = "group" // names its group in help texts
	flagWords = "words" // lists the values that it takes
)

// group puts flags of a command into a group.
func group(cmd *cobra.Command, title string, names ...string) {
	for _, name := range names {
		if f := cmd.Flags().Lookup(name); f != nil {
			annotate(f, flagGroup, title)
		}
	}
}

func annotate(f *pflag.Flag, key string, values ...string) {
	if f.Annotations == nil {
		f.Annotations = map[string][]string{}
	}
	f.Annotations[key] = values
}

// takes says which words a flag takes: no others are let through, and shells complete them.
func takes(cmd *cobra.Command, flag string, words ...string) {
	suggests(cmd, flag, words...)
	annotate(cmd.Flags().Lookup(flag), flagWords, words...)
}

// checkWords refuses flags with words that they do not take.
func checkWords(cmd *cobra.Command) (err error) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		words, value := f.Annotations[flagWords], f.Value.String()
		if len(words) > 0 && !slices.Contains(words, value) && err == nil {
			err = &position.UsageError{What: fmt.Sprintf("--%s %s is not known", f.Name, text(value)), Hint: spelling.Words(value, words)}
		}
	})
	return err
}

// suggests says which words a flag may have among others, for completion.
func suggests(cmd *cobra.Command, flag string, words ...string) {
	if err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // the flag is not there: a mistake of the caller
	}
}

// helpful gives a command and those below it our help: commands and flags in groups, folded for the
// terminal.
func helpful(root *cobra.Command, c *console) {
	root.AddGroup(commandGroups...)
	root.SetHelpCommandGroupID(groupOther)
	root.SetCompletionCommandGroupID(groupOther)
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error { return checkWords(cmd) }
	root.SetUsageFunc(func(cmd *cobra.Command) error {
		_, err := fmt.Fprint(cmd.OutOrStderr(), usageText(cmd, c.width))
		return err
	})
}

// usageText is the part of a help text below the description. A width of 0 folds nothing.
func usageText(cmd *cobra.Command, width int) string {
	var b strings.Builder
	use := cmd.UseLine()
	if cmd.HasAvailableSubCommands() {
		use = cmd.CommandPath() + " COMMAND"
	}
	fmt.Fprintf(&b, "Usage:\n  %s\n", use)
	if cmd.HasExample() {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", cmd.Example)
	}
	for _, g := range cmd.Groups() {
		fmt.Fprintf(&b, "\n%s\n", g.Title)
		for _, sub := range cmd.Commands() {
			if sub.GroupID == g.ID && (sub.IsAvailableCommand() || sub.Name() == "help") {
				fmt.Fprintf(&b, "  %-*s %s\n", cmd.NamePadding(), sub.Name(), (&console{width: width}).fold(sub.Short, cmd.NamePadding()+3))
			}
		}
	}
	flags, inGroups := map[string]*pflag.FlagSet{}, false
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) { inGroups = inGroups || len(f.Annotations[flagGroup]) > 0 })
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		title := flagsOwn
		switch {
		case len(f.Annotations[flagGroup]) > 0:
			title = f.Annotations[flagGroup][0]
		case inGroups && slices.Contains([]string{"help", "json", "verbose", "progress"}, f.Name):
			title = flagsReport
		}
		if flags[title] == nil {
			flags[title] = pflag.NewFlagSet(title, pflag.ContinueOnError)
		}
		flags[title].AddFlag(f)
	})
	for _, title := range flagGroups {
		if set := flags[title]; set != nil && set.HasAvailableFlags() {
			fmt.Fprintf(&b, "\n%s:\n%s", title, set.FlagUsagesWrapped(width))
		}
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\nUse %q for more about a command, %q for what exit codes say.\n", cmd.CommandPath()+" COMMAND --help", cmd.Root().Name()+" help exit-codes")
	}
	return b.String()
}

// nearestFlag is a hint for a flag that a command does not have.
func nearestFlag(cmd *cobra.Command, unknown string) string {
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	if near := spelling.Nearest(unknown, names); near != "" {
		return "did you mean --" + near + "? " + cmd.CommandPath() + " --help"
	}
	return cmd.CommandPath() + " --help"
}
