"""The paper's claims about what was measured, and whether they hold."""

import itertools
from statistics import median

import claims
import compare
import devices
from shown import listed

from .workload import APPLICATIONS, CACHES, COLLECTIVE, INDIVIDUAL, MORE_RANKS, POSIX, RANKS

DIFFER = 1.25  # medians that are farther apart are no "almost the same"


def percents(values):
    return listed(values, "{:.1%}")


def is_slower(one, other):
    """Significantly."""
    return median(one) > median(other) and compare.mann_whitney(one, other).p < compare.LEVEL


def claims_of(results):
    return [*of_page_cache(results), *of_layers(results), *of_collective(results), *of_shuffling(results)]


def of_page_cache(results):
    least, middle, most = CACHES

    def drops(name, less, more):
        return {device: results.reduction(name, device, less, more) for device in devices.PROFILES}

    def no_difference():
        sets = {device: results.page("HACC-IO", device, most) for device in devices.PROFILES}
        medians = {device: median(values) for device, values in sets.items()}
        some = [p for p in compare.dunn(sets).values() if p < compare.LEVEL]
        factor = max(medians.values()) / min(medians.values())
        return (
            factor < DIFFER,
            f"the slowest takes {factor:.2f} times as long as the fastest; "
            f"{len(some)} of 3 pairs differ (Dunn, Holm)",
        )

    def hacc():
        found = drops("HACC-IO", least, most)
        return found["NVM"] < min(found["HDD"], found["SSD"]), f"reduced by {percents(found)}"

    def stable():
        found = drops("MADBench2", middle, most)
        return all(
            abs(drop) < 1 - 1 / DIFFER for drop in found.values()
        ), f"from 11 to 3 GB reduced by {percents(found)}"

    def best():
        cases = list(itertools.product(("MADBench2", "S3aSim"), CACHES))
        won = [
            (name, cache)
            for name, cache in cases
            if min(devices.PROFILES, key=lambda device: median(results.page(name, device, cache))) == "NVM"
        ]
        return len(won) == len(cases), f"by the medians it is the fastest in {len(won)} of {len(cases)} cases"

    def accesses():
        mad, s3a = (results.reduction(name, "NVM", least, middle) for name in ("MADBench2", "S3aSim"))
        return (
            mad > s3a,
            f"MADBench2 by {mad:.1%}, S3aSim by {s3a:.1%}. S3aSim's file is read once, from the device",
        )

    def insensitive():
        found = {name: drops(name, least, most) for name in APPLICATIONS}
        holds = all(of["NVM"] < min(of["HDD"], of["SSD"]) for of in found.values())
        return holds, "from 11 to 1 GB reduced: " + "; ".join(
            f"{name} {percents(of)}" for name, of in found.items()
        )

    return [
        claims.judged(
            "III-A",
            "When the page cache size is large (e.g., 9GB and 11GB), there is almost no performance "
            "difference between the three devices",
            no_difference,
        ),
        claims.judged(
            "III-A",
            "and SSD is reduced by 92.7% and 84.8% respectively, while the performance with NVM is only "
            "reduced by 11.5%",
            hacc,
        ),
        claims.judged(
            "III-A",
            "As we decrease the cache size from 11GB to 3GB, the performance on the three devices remains stable",
            stable,
        ),
        claims.judged("III-A", "the NVM has the best performance in all cases", best),
        claims.judged(
            "III-A",
            "MADBench2 on NVM has significant performance reduction, 40.16%, while S3aSim on NVM has only "
            "5.91% performance reduction",
            accesses,
        ),
        claims.judged(
            "III-A",
            "Compared with the traditional HDD and SSD, NVM is relatively insensitive to the page cache size",
            insensitive,
        ),
    ]


def of_layers(results):
    def overhead(device):
        posix, mpi = (results.way(way, device) for way in (POSIX, INDIVIDUAL))
        return median(mpi) / median(posix) - 1, compare.mann_whitney(mpi, posix).p

    def slow():
        found = {device: overhead(device) for device in ("HDD", "SSD")}
        holds = all(abs(more) < DIFFER - 1 for more, _ in found.values())
        return holds, "MPI-IO takes longer by " + ", ".join(
            f"{device} {more:.1%} (p = {p:.2f})" for device, (more, p) in found.items()
        )

    def fast():
        more, p = overhead("NVM")
        return (
            0 < more < DIFFER - 1,
            f"MPI-IO takes longer by {more:.1%}, p = {p:.2f} (Mann and Whitney), open and close included",
        )

    return [
        claims.judged(
            "III-B",
            "there is almost no performance difference between MPI individual I/O and POSXI I/O on a single "
            "node for HDD and SSD",
            slow,
        ),
        claims.judged(
            "III-B",
            "when we use NVM, we notice that POSIX I/O performs slightly better than MPI individual I/O by 4.87%",
            fast,
        ),
        claims.untested(
            "III-B",
            "MPI individual I/O has almost no performance difference than POSIX I/O in all cases, no "
            "matter whether we use HDD, SSD, and NVM",
            "figure 8 is of four nodes and an NFS server; here is one node",
        ),
    ]


def of_collective(results):
    cases = [
        ("large", RANKS, "seconds"),
        ("large", RANKS, "read_s"),
        ("large", MORE_RANKS, "seconds"),
        ("large", MORE_RANKS, "read_s"),
        ("interleaved", RANKS, "seconds"),
        ("interleaved", RANKS, "read_s"),
    ]

    def words(case):
        return f"{case[0]}, {case[1]} ranks, {'writes' if case[2] == 'seconds' else 'reads'}"

    def hard_drive():
        found = {case: results.benefit("HDD", case[1], case[0], case[2]) for case in cases}
        busy = [found[case] for case in cases if case[1] == MORE_RANKS]
        return all(factor > 1 for factor in busy), "individual over collective time: " + "; ".join(
            f"{words(case)} {factor:.2f}" for case, factor in found.items()
        ) + ". The emulation has operations per second, but no seeks"

    def worse():
        all_of_them = list(itertools.product(("SSD", "NVM"), cases))
        found = {
            (device, case): results.benefit(device, case[1], case[0], case[2]) for device, case in all_of_them
        }
        sure = sum(
            is_slower(
                *(results.way(way, device, case[1], case[0], key=case[2]) for way in (COLLECTIVE, INDIVIDUAL))
            )
            for device, case in all_of_them
        )
        better = [f"{device}, {words(case)} {factor:.2f}" for (device, case), factor in found.items() if factor > 1]
        return not better, f"worse in {len(found) - len(better)} of {len(found)} cases, significantly in {sure}" + (
            f"; better: {'; '.join(better)}" if better else ""
        )

    def processes():
        found = {
            device: [1 / results.benefit(device, ranks, "large", "seconds") for ranks in (RANKS, MORE_RANKS)]
            for device in devices.PROFILES
        }
        return all(
            more > less for less, more in found.values()
        ), "collective over individual time of writes by 2 and 4 ranks of one node: " + ", ".join(
            f"{device} {a:.2f} and {b:.2f}" for device, (a, b) in found.items()
        )

    return [
        claims.judged(
            "III-C",
            "For HDD with intensive I/O operations (i.e., 4 processes per node), the collective I/O performs "
            "better",
            hard_drive,
        ),
        claims.judged(
            "III-C", "for SSD and NVM, MPI collective I/O always performs worse than MPI individual I/O", worse
        ),
        claims.judged(
            "III-C",
            "the performance difference between MPI collective I/O and individual I/O becomes bigger in the "
            "case of 4 processes per node than in the case of 1 process per node",
            processes,
        ),
    ]


def of_shuffling(results):
    def ratio():
        found = {device: results.share(device) for device in devices.PROFILES}
        return found["HDD"] < found["SSD"] < found[
            "NVM"
        ], f"of the two medians: {percents(found)}; shuffled is within a node"

    def stable():
        found = {device: results.shuffling(device)[0] / 1000 for device in devices.PROFILES}
        return max(found.values()) < DIFFER * min(found.values()), f"ms of a call: {listed(found, '{:.2f}')}"

    return [
        claims.judged(
            "IV-B",
            "from HDD, SSD, to NVM, the ratio of shuffle time to total collective I/O time increases from 7.85% "
            "to 50.16%",
            ratio,
        ),
        claims.judged("IV-B", "the shuffle time remains stable across the cases of HDD, SSD, and NVM", stable),
    ]
