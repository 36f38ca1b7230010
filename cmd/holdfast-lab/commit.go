package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"holdfast/cmd/holdfast-lab/internal/image"
)

func commitCommand(open opener) *cobra.Command {
	var size string
	var sameKernel bool
	cmd := &cobra.Command{
		Use:   "commit [VERSION]",
		Short: "Make another version of the operating system and print its commit; without VERSION list all",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			l, err := open(cmd)
			if err != nil {
				return err
			}
			if len(args) == 0 {
				versions, err := l.Versions()
				for _, v := range versions {
					fmt.Fprintln(cmd.OutOrStdout(), v.Version, v.Commit)
				}
				return err
			}
			payload, err := parseSize(size)
			if err != nil {
				return err
			}
			commit, err := l.Commit(cmd.Context(), args[0], image.Changes{Payload: image.EqualFiles(payload), SameKernel: sameKernel})
			if err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), commit)
			return nil
		},
	}
	cmd.Flags().StringVar(&size, "size", fmt.Sprintf("%dM", image.DefaultPayload>>20), "how much new data the version has")
	cmd.Flags().BoolVar(&sameKernel, "same-kernel", false, "keep kernel and initramfs of version 1.0, so that a soft reboot leads from one to the other")
	return cmd
}

func parseSize(s string) (int64, error) {
	digits, shift := s, 0
	for unit, bits := range map[string]int{"K": 10, "M": 20, "G": 30} {
		if d, ok := strings.CutSuffix(s, unit); ok {
			digits, shift = d, bits
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 || n > 1<<40>>shift {
		return 0, fmt.Errorf("read flags: %q is not a size like 150M", s)
	}
	return n << shift, nil
}
