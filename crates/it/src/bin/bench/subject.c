/* What the benchmark runs, raw and kept: one static program with a verb each. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static char block[64 << 10];

/* Writes so many bytes to standard output, each write one block. */
static int pour(long long bytes, size_t size) {
    while (bytes > 0) {
        size_t n = bytes < (long long)size ? (size_t)bytes : size;
        ssize_t written = write(1, block, n);
        if (written <= 0) return 1;
        bytes -= written;
    }
    return 0;
}

/* Three generations, each with the FIFO open and one byte in it once it is there. */
static int tree(const char *fifo, int deaf) {
    if (deaf) signal(SIGTERM, SIG_IGN);
    int end = open(fifo, O_WRONLY);
    if (end < 0) return 1;
    for (int below = 2; below > 0 && fork() == 0; below--) {}
    if (write(end, "x", 1) != 1) return 1;
    for (;;) pause();
}

int main(int argc, char **argv) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (argc < 2) return 2;
    const char *verb = argv[1];
    if (!strcmp(verb, "stamp") && argc == 3) {
        int end = open(argv[2], O_WRONLY);
        return write(end, &now, sizeof now) == sizeof now ? 0 : 1;
    }
    if (!strcmp(verb, "pour") && argc == 3) {
        memset(block, 'x', sizeof block);
        return pour(atoll(argv[2]), sizeof block);
    }
    if (!strcmp(verb, "lines") && argc == 3) {
        memset(block, 'x', 79);
        block[79] = '\n';
        return pour(atoll(argv[2]), 80);
    }
    if (!strcmp(verb, "tree") && argc == 3) return tree(argv[2], 0);
    if (!strcmp(verb, "deaf-tree") && argc == 3) return tree(argv[2], 1);
    if (!strcmp(verb, "nothing")) return 0;
    if (!strcmp(verb, "idle")) {
        for (;;) pause();
    }
    return 2;
}
