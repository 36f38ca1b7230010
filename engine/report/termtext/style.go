package termtext

import "charm.land/lipgloss/v2"

// Style colours text on a terminal.
type Style struct {
	Colour  bool
	Columns int // width of the terminal; 0: it is not known
}

func (s Style) paintText(style lipgloss.Style, text string) string {
	if !s.Colour {
		return text
	}
	return style.Render(text)
}

// Bold makes text bold.
func (s Style) Bold(t string) string { return s.paintText(lipgloss.NewStyle().Bold(true), t) }

// Faint makes text faint.
func (s Style) Faint(t string) string { return s.paintText(lipgloss.NewStyle().Faint(true), t) }

// Red makes text red.
func (s Style) Red(t string) string {
	return s.paintText(lipgloss.NewStyle().Foreground(lipgloss.Red), t)
}

// Green makes text green.
func (s Style) Green(t string) string {
	return s.paintText(lipgloss.NewStyle().Foreground(lipgloss.Green), t)
}

// Yellow makes text yellow.
func (s Style) Yellow(t string) string {
	return s.paintText(lipgloss.NewStyle().Foreground(lipgloss.Yellow), t)
}
