package main

import (
	"context"
	"errors"

	"github.com/modelpatch/modelpatch/internal/target"
	"github.com/spf13/cobra"
)

// outputs are the files that a command writes beside models, with the flag that they share.
type outputs struct{ target.Set }

func (o *outputs) addFlags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&o.Follow, "follow", false, "where an output that is no model is a link: write the file that it leads to")
}

// picture begins a file that is drawn from models.
func (o *outputs) picture(ctx context.Context, flag, path string, force bool, models []string) (*target.File, error) {
	if err := o.Reads(models...); err != nil {
		return nil, err
	}
	return o.Create(ctx, flag, path, force)
}

// complete writes all of a file and gives it its name.
func complete(target *target.File, content []byte) error {
	_, err := target.Write(content)
	if err == nil {
		_, err = target.Commit()
	}
	return errors.Join(err, target.Close())
}
