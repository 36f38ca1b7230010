package live

import (
	"io"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/sourcegraph/conc"
)

// Block shows a text on a terminal and replaces it in place. Like the live
// status, it reads no input, catches no signal and sets no mode, so that even a
// killed program leaves a usable terminal.
type Block struct {
	program *tea.Program
	wait    conc.WaitGroup
}

// NewBlock returns an empty block on out, which is a terminal.
func NewBlock(out io.Writer) *Block {
	b := &Block{program: newProgram(blockModel{}, out)}
	b.wait.Go(func() { _, _ = b.program.Run() }) // a lost terminal ends only the block
	return b
}

// Show replaces the text.
func (b *Block) Show(text string) { b.program.Send(blockText(text)) }

// Close leaves the last text on the terminal, with the cursor below.
func (b *Block) Close() {
	b.program.Send(endOfEvents{})
	b.wait.Wait()
}

type blockText string

// blockModel is the model of bubbletea for a block.
type blockModel struct {
	text string
	size Size
}

// Init does nothing.
func (m blockModel) Init() tea.Cmd { return nil }

// Update handles a text, the size of the terminal, or the end.
func (m blockModel) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case blockText:
		m.text = string(msg)
	case tea.WindowSizeMsg:
		m.size = Size{msg.Width, msg.Height}
	case endOfEvents:
		return m, tea.Quit
	}
	return m, nil
}

// View renders the text, cut to the terminal.
func (m blockModel) View() tea.View {
	v := tea.NewView("")
	if m.size.Width > 0 {
		v = tea.NewView(cutText(m.text, m.size) + "\n") // bubbletea clears the last line at its end
	}
	v.DisableBracketedPasteMode = true
	v.Cursor = &tea.Cursor{Shape: userCursorShape}
	return v
}

func cutText(text string, to Size) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if most := max(1, to.Height-1); to.Height > 0 && len(lines) > most {
		lines = append(lines[:most-1:most-1], "… more lines than the terminal has")
	}
	for i, l := range lines {
		lines[i] = ansi.Truncate(l, to.Width, "…")
	}
	return strings.Join(lines, "\n")
}
