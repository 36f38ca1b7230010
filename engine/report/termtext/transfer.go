package termtext

import (
	"fmt"
	"strings"

	"holdfast/engine/event"
)

// FormatTransfer describes the progress of a transfer: bytes, rate, and the
// remaining time.
func FormatTransfer(p event.Progress) string {
	if p.Ended {
		return fmt.Sprintf("%s from the bastion%s, %s/s", FormatBytes(p.Bytes), FormatAgain(p.AgainBytes), FormatBytes(p.BytesPerSecond))
	}
	text := FormatBytes(p.Bytes)
	if p.TotalBytes > 0 {
		text += " of " + FormatBytes(p.TotalBytes)
	}
	text += FormatAgain(p.AgainBytes)
	if p.BytesPerSecond > 0 {
		text += ", " + FormatBytes(p.BytesPerSecond) + "/s"
	}
	if p.Remaining > 0 {
		text += ", " + FormatDuration(p.Remaining) + " left"
	}
	return text
}

// FormatAgain tells the bytes that were sent again, or returns "" if there are none.
func FormatAgain(bytes int64) string {
	if bytes <= 0 {
		return ""
	}
	return " (" + FormatBytes(bytes) + " of it again)"
}

// FormatBytes formats a number of bytes for people: "512 B", "1.5 MiB", "230 MiB".
func FormatBytes(n int64) string {
	value, unit := float64(n), 0
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	for value >= 1000 && unit < len(units)-1 {
		value /= 1024
		unit++
	}
	text := fmt.Sprintf("%.1f", value)
	if value >= 100 || unit == 0 {
		text = fmt.Sprintf("%.0f", value)
	}
	return strings.TrimSuffix(text, ".0") + " " + units[unit]
}
