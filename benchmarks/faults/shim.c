/* A library before that of the system, for the processes that are hurt (LD_PRELOAD).

   It shows a process another time than it is, and another disk than it has. Whoever hurts the
   process says which, in a file that both have mapped (FAULTS_CONTROL; the layout is that of
   `struct control`, and `shim.py` writes it).

   Of the files below FAULTS_DISK it notes in FAULTS_UNDO, before every write, what was there, and
   every sync. So a power cut can be had: kill the process, and undo what was not synced. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

struct view {
    int64_t since_ns;  /* CLOCK_BOOTTIME at which the rate began */
    int64_t offset_ns; /* added to all clocks */
    int64_t ppm;       /* how many parts in a million time passes too fast */
    int64_t wall_ns;   /* added to what CLOCK_REALTIME shows, besides */
};

struct control {
    volatile int64_t current; /* which of the two views holds */
    struct view views[2];
    volatile int64_t sync_delay_us;
    volatile int64_t write_errno; /* what every write to the disk fails with; 0: none does */
    volatile int64_t lies;        /* syncs do nothing, and say that all is well */
};

enum { FDS = 4096, FILES = 256 };

static struct control none, *control = &none;
static char disk[PATH_MAX];
static size_t disk_length;
static int undo = -1;

static struct file {
    char path[PATH_MAX];
    int is_unsynced; /* it was written to */
    int is_fresh;    /* it was made or removed, and its folder not synced since */
} files[FILES];
static int file_count;
static short file_of[FDS]; /* 1 + the number of the file; 0: none of ours */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

#define REAL(type, name, ...)                                                                     \
    static type (*real)(__VA_ARGS__);                                                             \
    if (!real) real = (type(*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

/* --- time --- */

static int real_clock(clockid_t clock, struct timespec *at) {
    REAL(int, "clock_gettime", clockid_t, struct timespec *);
    return real(clock, at);
}

static int64_t in_ns(const struct timespec *at) { return at->tv_sec * 1000000000LL + at->tv_nsec; }

static struct timespec of_ns(int64_t ns) {
    if (ns < 0) ns = 0;
    return (struct timespec){ns / 1000000000LL, ns % 1000000000LL};
}

/* The time of the machine, whatever is shown. */
int64_t faults_true_ns(void) {
    struct timespec at;
    real_clock(CLOCK_BOOTTIME, &at);
    return in_ns(&at);
}

static int64_t shift_of(clockid_t clock) {
    const struct view *view = &control->views[control->current & 1];
    int64_t shift = view->offset_ns;
    switch (clock) {
    case CLOCK_MONOTONIC:
    case CLOCK_MONOTONIC_RAW:
    case CLOCK_MONOTONIC_COARSE:
    case CLOCK_BOOTTIME: break;
    case CLOCK_REALTIME:
    case CLOCK_REALTIME_COARSE: shift += view->wall_ns; break;
    default: return 0;
    }
    if (view->ppm) shift += (faults_true_ns() - view->since_ns) / 1000 * view->ppm / 1000;
    return shift;
}

int clock_gettime(clockid_t clock, struct timespec *at) {
    int result = real_clock(clock, at);
    int64_t shift = result ? 0 : shift_of(clock);
    if (shift) *at = of_ns(in_ns(at) + shift);
    return result;
}

int gettimeofday(struct timeval *at, void *zone) {
    struct timespec now;
    (void)zone;
    if (clock_gettime(CLOCK_REALTIME, &now)) return -1;
    at->tv_sec = now.tv_sec;
    at->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *at) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (at) *at = now.tv_sec;
    return now.tv_sec;
}

/* The system waits by its own clocks: a time that was worked out by ours is put back into those. */
static struct timespec back(clockid_t clock, const struct timespec *until) {
    return of_ns(in_ns(until) - shift_of(clock));
}

int clock_nanosleep(clockid_t clock, int flags, const struct timespec *until, struct timespec *left) {
    REAL(int, "clock_nanosleep", clockid_t, int, const struct timespec *, struct timespec *);
    if (!(flags & TIMER_ABSTIME)) return real(clock, flags, until, left);
    struct timespec at = back(clock, until);
    return real(clock, flags, &at, left);
}

int sem_timedwait(sem_t *sem, const struct timespec *until) {
    REAL(int, "sem_timedwait", sem_t *, const struct timespec *);
    struct timespec at = back(CLOCK_REALTIME, until);
    return real(sem, &at);
}

int sem_clockwait(sem_t *sem, clockid_t clock, const struct timespec *until) {
    REAL(int, "sem_clockwait", sem_t *, clockid_t, const struct timespec *);
    struct timespec at = back(clock, until);
    return real(sem, clock, &at);
}

/* Python's conditions go by CLOCK_MONOTONIC, and nobody else's in these processes wait for a time. */
int pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex, const struct timespec *until) {
    static int (*real)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
    if (!real) *(void **)&real = dlvsym(RTLD_NEXT, "pthread_cond_timedwait", "GLIBC_2.3.2");
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "pthread_cond_timedwait");
    struct timespec at = back(CLOCK_MONOTONIC, until);
    return real(cond, mutex, &at);
}

/* --- the disk --- */

enum { WRITTEN = 'W', CUT = 'T', MADE = 'C', REMOVED = 'U', SYNCED = 'S', FOLDER_SYNCED = 'D' };

struct head {
    uint32_t kind;
    uint32_t path_length;
    uint64_t offset;
    uint64_t size;       /* of the file before */
    uint64_t old_length; /* so much of what was there follows, after the path */
};

static int real_open(const char *path, int flags, mode_t mode) {
    REAL(int, "open", const char *, int, ...);
    return real(path, flags, mode);
}

static ssize_t real_write(int fd, const void *data, size_t length) {
    REAL(ssize_t, "write", int, const void *, size_t);
    return real(fd, data, length);
}

/* What cannot go on says so: a power cut could not be told from a lie any more. */
static void give_up(const char *why) {
    fprintf(stderr, "shim: %s: %s\n", why, strerror(errno));
    abort();
}

static void append(const void *data, size_t length) {
    const char *rest = data;
    while (length > 0) {
        ssize_t done = real_write(undo, rest, length);
        if (done < 0 && errno != EINTR) give_up("cannot note what is written");
        if (done > 0) rest += done, length -= done;
    }
}

/* Note what is about to happen; `old` has what was there. */
static void note(int kind, const char *path, uint64_t offset, uint64_t size, const char *old,
                 uint64_t old_length) {
    struct head head = {kind, strlen(path), offset, size, old_length};
    size_t length = sizeof head + head.path_length + old_length;
    char *whole = malloc(length); /* in one write: a record is there as a whole, or not */
    if (!whole) give_up("no memory for a note");
    memcpy(whole, &head, sizeof head);
    memcpy(whole + sizeof head, path, head.path_length);
    if (old_length) memcpy(whole + sizeof head + head.path_length, old, old_length);
    append(whole, length);
    free(whole);
}

static int number_of(const char *path) {
    for (int number = 0; number < file_count; number++)
        if (!strcmp(files[number].path, path)) return number;
    if (file_count == FILES) give_up("too many files");
    strcpy(files[file_count].path, path);
    return file_count++;
}

static int is_ours(const char *path) {
    return disk_length && undo >= 0 && !strncmp(path, disk, disk_length)
           && (path[disk_length] == '/' || !path[disk_length]) && strlen(path) < PATH_MAX;
}

static struct file *ours(int fd) {
    return fd >= 0 && fd < FDS && file_of[fd] ? &files[file_of[fd] - 1] : NULL;
}

static int opened(const char *path, int flags, mode_t mode) {
    if (!is_ours(path)) return real_open(path, flags, mode);
    int writes = (flags & O_ACCMODE) != O_RDONLY || flags & O_CREAT;
    if (writes && control->write_errno == EROFS) {
        errno = EROFS;
        return -1;
    }
    pthread_mutex_lock(&lock);
    struct stat about;
    int is_new = flags & O_CREAT && stat(path, &about);
    int fd = real_open(path, flags, mode);
    if (fd >= 0 && fd < FDS) {
        int number = number_of(path);
        file_of[fd] = number + 1;
        if (is_new) {
            note(MADE, path, 0, 0, NULL, 0);
            files[number].is_fresh = 1;
        }
    }
    pthread_mutex_unlock(&lock);
    return fd;
}

#define OPENED                                                                                    \
    mode_t mode = 0;                                                                              \
    if (flags & (O_CREAT | __O_TMPFILE)) {                                                        \
        va_list rest;                                                                             \
        va_start(rest, flags);                                                                    \
        mode = va_arg(rest, mode_t);                                                              \
        va_end(rest);                                                                             \
    }                                                                                             \
    return opened(path, flags, mode)

int open(const char *path, int flags, ...) { OPENED; }
int open64(const char *path, int flags, ...) { OPENED; }

int close(int fd) {
    REAL(int, "close", int);
    if (fd >= 0 && fd < FDS) file_of[fd] = 0;
    return real(fd);
}

/* Note what a write is about to replace; an error number if it is to fail. */
static int before_write(struct file *file, int fd, uint64_t length, int64_t offset) {
    if (control->write_errno) return control->write_errno;
    struct stat about;
    char *old = malloc(length ? length : 1);
    if (!old || fstat(fd, &about)) give_up("cannot see what is overwritten");
    ssize_t had = pread(fd, old, length, offset);
    note(WRITTEN, file->path, offset, about.st_size, old, had > 0 ? had : 0);
    free(old);
    file->is_unsynced = 1;
    return 0;
}

ssize_t write(int fd, const void *data, size_t length) {
    struct file *file = ours(fd);
    if (!file) return real_write(fd, data, length);
    pthread_mutex_lock(&lock);
    int is_appending = fcntl(fd, F_GETFL) & O_APPEND;
    int wrong = before_write(file, fd, length, lseek(fd, 0, is_appending ? SEEK_END : SEEK_CUR));
    ssize_t done = wrong ? -1 : real_write(fd, data, length);
    pthread_mutex_unlock(&lock);
    if (wrong) errno = wrong;
    return done;
}

static ssize_t written(int fd, const void *data, size_t length, off_t offset) {
    REAL(ssize_t, "pwrite", int, const void *, size_t, off_t);
    struct file *file = ours(fd);
    if (!file) return real(fd, data, length, offset);
    pthread_mutex_lock(&lock);
    int wrong = before_write(file, fd, length, offset);
    ssize_t done = wrong ? -1 : real(fd, data, length, offset);
    pthread_mutex_unlock(&lock);
    if (wrong) errno = wrong;
    return done;
}

ssize_t pwrite(int fd, const void *data, size_t length, off_t at) { return written(fd, data, length, at); }
ssize_t pwrite64(int fd, const void *data, size_t length, off64_t at) { return written(fd, data, length, at); }

static int shortened(int fd, off_t size) {
    REAL(int, "ftruncate", int, off_t);
    struct file *file = ours(fd);
    struct stat about;
    if (!file || fstat(fd, &about)) return real(fd, size);
    if (control->write_errno) {
        errno = control->write_errno;
        return -1;
    }
    pthread_mutex_lock(&lock);
    size_t length = about.st_size > size ? about.st_size - size : 0;
    char *old = malloc(length ? length : 1);
    if (!old || (length && pread(fd, old, length, size) != (ssize_t)length))
        give_up("cannot see what is cut off");
    note(CUT, file->path, size, about.st_size, old, length);
    free(old);
    file->is_unsynced = 1;
    int result = real(fd, size);
    pthread_mutex_unlock(&lock);
    return result;
}

int ftruncate(int fd, off_t size) { return shortened(fd, size); }
int ftruncate64(int fd, off64_t size) { return shortened(fd, size); }

int unlink(const char *path) {
    REAL(int, "unlink", const char *);
    struct stat about;
    if (!is_ours(path) || stat(path, &about) || !S_ISREG(about.st_mode)) return real(path);
    if (control->write_errno == EROFS) {
        errno = EROFS;
        return -1;
    }
    pthread_mutex_lock(&lock);
    int fd = real_open(path, O_RDONLY, 0);
    char *old = malloc(about.st_size ? about.st_size : 1);
    if (fd < 0 || !old || read(fd, old, about.st_size) != about.st_size)
        give_up("cannot see what is removed");
    close(fd);
    note(REMOVED, path, 0, about.st_size, old, about.st_size);
    free(old);
    files[number_of(path)].is_fresh = 1;
    int result = real(path);
    pthread_mutex_unlock(&lock);
    return result;
}

/* Whether a file is directly in a folder. */
static int is_in(const char *path, const char *folder) {
    size_t length = strlen(folder);
    return !strncmp(path, folder, length) && path[length] == '/' && !strchr(path + length + 1, '/');
}

static int synced(int fd, int (*real)(int)) {
    struct file *file = ours(fd);
    if (!file) return real(fd);
    if (control->sync_delay_us > 0) usleep(control->sync_delay_us);
    if (control->lies) return 0;
    pthread_mutex_lock(&lock);
    int result = real(fd);
    struct stat about;
    if (!result && !fstat(fd, &about)) {
        int is_folder = S_ISDIR(about.st_mode), are_all = 1;
        note(is_folder ? FOLDER_SYNCED : SYNCED, file->path, 0, 0, NULL, 0);
        file->is_unsynced = 0;
        for (int number = 0; number < file_count; number++) {
            if (is_folder && is_in(files[number].path, file->path)) files[number].is_fresh = 0;
            are_all &= !files[number].is_unsynced && !files[number].is_fresh;
        }
        /* Nothing is left that could be undone. */
        if (are_all && ftruncate(undo, 0)) give_up("cannot forget what is synced");
    }
    pthread_mutex_unlock(&lock);
    return result;
}

int fsync(int fd) {
    REAL(int, "fsync", int);
    return synced(fd, real);
}

int fdatasync(int fd) {
    REAL(int, "fdatasync", int);
    return synced(fd, real);
}

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("FAULTS_CONTROL");
    int fd = path ? real_open(path, O_RDWR | O_CLOEXEC, 0) : -1;
    if (fd >= 0) {
        void *at = mmap(NULL, sizeof none, PROT_READ, MAP_SHARED, fd, 0);
        if (at != MAP_FAILED) control = at;
    }
    const char *below = getenv("FAULTS_DISK"), *noted = getenv("FAULTS_UNDO");
    if (below && noted && strlen(below) < PATH_MAX) {
        strcpy(disk, below);
        disk_length = strlen(disk);
        undo = real_open(noted, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    }
}
