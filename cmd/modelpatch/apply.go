package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/modelpatch/modelpatch"
)

func newApply(c *console) *cobra.Command {
	return newPatching(c, modelpatch.Apply, &cobra.Command{
		Use:   "apply PATCH FILE -o NEW",
		Short: "Make the change that a patch file holds",
		Long: `apply makes the change of a patch file (.mpatch) to a model file. The patch
knows the file it is for: by its size, by every byte outside of the tensor data,
and by the surroundings of what it changes (all bytes, when the patch was made
with --full-digest). Another file is refused, and told in what it differs. With
--in-place, the patch that a change in place left also changes config.json and its
like, where they followed that change (--sidecars).`,
		Example: `  modelpatch extend --len 32768 llama.gguf -o llama-32k.gguf --patch-only
  modelpatch apply llama-32k.gguf.mpatch llama.gguf -o llama-32k.gguf`,
	})
}

func newRevert(c *console) *cobra.Command {
	return newPatching(c, modelpatch.Revert, &cobra.Command{
		Use:   "revert PATCH FILE -o OLD",
		Short: "Take the change of a patch file back",
		Long: `revert takes the change of a patch file (.mpatch) back: FILE is what apply has
given, or the file that was changed --in-place, with the FILE.undo.mpatch that
this left. Of several such patches the latest comes first. With --in-place,
config.json and its like get their old values back where they followed
(--sidecars).`,
		Example: `  modelpatch revert model.gguf.undo.mpatch model.gguf --in-place`,
	})
}

type patching func(ctx context.Context, patchPath, path string, o modelpatch.PatchOptions) (modelpatch.Result, error)

func newPatching(c *console, run patching, cmd *cobra.Command) *cobra.Command {
	var d destination
	cmd.Args = cobra.ExactArgs(2)
	cmd.RunE = func(cmd *cobra.Command, files []string) error {
		return d.run(c, files[1], func() (modelpatch.Result, error) {
			return run(cmd.Context(), files[0], files[1], modelpatch.PatchOptions{Open: d.open, Write: d.write})
		}, files[0])
	}
	d.addFlags(c, cmd)
	return reading(c, cmd, &d.open)
}
