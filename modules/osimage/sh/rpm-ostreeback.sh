restore_previous() { rpm-ostree rollback; }
restore_running() { rpm-ostree rollback; } # makes the running OS the default if another one is
drop_staged() { rpm-ostree cleanup --pending; }
