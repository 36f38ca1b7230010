package report

import "charm.land/lipgloss/v2"

// Style colours text on a terminal.
type Style struct{ Colour bool }

func (s Style) paint(style lipgloss.Style, text string) string {
	if !s.Colour {
		return text
	}
	return style.Render(text)
}

func (s Style) bold(t string) string  { return s.paint(lipgloss.NewStyle().Bold(true), t) }
func (s Style) faint(t string) string { return s.paint(lipgloss.NewStyle().Faint(true), t) }
func (s Style) red(t string) string   { return s.paint(lipgloss.NewStyle().Foreground(lipgloss.Red), t) }

func (s Style) green(t string) string {
	return s.paint(lipgloss.NewStyle().Foreground(lipgloss.Green), t)
}

func (s Style) yellow(t string) string {
	return s.paint(lipgloss.NewStyle().Foreground(lipgloss.Yellow), t)
}
