package change

import _ "embed" // embeds scripts

// Parts of the scripts. scriptHead puts the values of their variables in front.
var (
	//go:embed sh/lib.sh
	libScript string
	//go:embed sh/putsettings.sh
	putSettingsText string
	//go:embed sh/probe.sh
	probeText string
	//go:embed sh/preflight.sh
	preflightText string
	//go:embed sh/version.sh
	versionText string
	//go:embed sh/record.sh
	recordText string
	//go:embed sh/forget.sh
	forgetText string
	//go:embed sh/setup.sh
	setupText string
	//go:embed sh/start.sh
	startText string
	//go:embed sh/configure.sh
	configureText string
	//go:embed sh/setaside.sh
	setAsideText string
	//go:embed sh/tools.sh
	toolsText string
	//go:embed sh/openroom.sh
	openRoomText string
	//go:embed sh/receive.sh
	receiveText string
	//go:embed sh/copy.sh
	copyText string
	//go:embed sh/build.sh
	buildText string
	//go:embed sh/complete.sh
	completeText string
	//go:embed sh/note.sh
	noteText string
	//go:embed sh/replace.sh
	replaceText string
	//go:embed sh/read.sh
	readText string
)
