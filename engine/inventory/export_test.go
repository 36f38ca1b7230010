package inventory

// Update says whether goldens are to be written.
func Update() bool { return *update }
