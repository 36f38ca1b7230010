package main

import (
	"os"

	"github.com/spf13/cobra"

	"holdfast/cmd/holdfast-lab/internal/demo"
)

func demoCommand(open opener) *cobra.Command {
	var soft bool
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show the main job: a site of five real hosts takes an OS update",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, release, err := openReserved(open, cmd)
			if err != nil {
				return err
			}
			defer release()
			return demo.Demo{Lab: l, Soft: soft, Out: os.Stdout}.Run(cmd.Context())
		},
	}
	cmd.Flags().BoolVar(&soft, "soft", false, "hosts of testing with a composefs get an OS with the same kernel, by soft reboots")
	return cmd
}
