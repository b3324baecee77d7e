/* The pod sandbox process: reap zombies, leave on SIGINT/SIGTERM.
 * "pause -v" prints a version and leaves: kubeadm upgrade's health-check Job runs that. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void down(int s) { (void)s; _exit(0); }
static void reap(int s) { (void)s; while (waitpid(-1, 0, WNOHANG) > 0); }

int main(int argc, char **argv) {
	if (argc > 1 && !strcmp(argv[1], "-v"))
		return puts("pause " VERSION) == EOF;
	signal(SIGINT, down);
	signal(SIGTERM, down);
	signal(SIGCHLD, reap);
	for (;;) pause();
}
